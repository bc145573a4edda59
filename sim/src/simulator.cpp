#include "earliest.hpp"
#include "memory_peaks.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <limits>

namespace emplace {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kNotSent = -1.0;
constexpr OpId kNone = -1;
constexpr std::size_t kPad = 4;  // entries that may be copied beyond the end of a queue

double whole(double us) { return static_cast<double>(static_cast<std::int64_t>(us)); }

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// What a turn needs to know of an op, in one place.
struct OpFacts {
  const Problem::Child* first_child = nullptr;  // by name
  const Problem::Child* last_child = nullptr;
  double gap_us = 0;
  std::int32_t num_parents = 0;
  std::int32_t only_output = kNone;  // the output that all consumers read, or kNone
};

// What consumers are looked up for.
struct OpState {
  std::uint32_t slot;
  std::int32_t
      waiting;  // producers that have not delivered, or at least started on this op's device
  OpId last_local_producer;  // the last of the latter
};

// An output on its way to the consumers on other devices.
struct Transfer {
  double start_us;
  double arrives_us;
  std::int32_t output;
  OpId producer;
};

}  // namespace

std::string_view to_string(StepStatus status) {
  return status == StepStatus::kOk ? "ok" : "out_of_memory";
}

// The `placeto` event engine. Rule numbers refer to sim/README.md.
//
// Only two kinds of events are left of the rules: a transfer arrives, and a device takes its turn.
// The others follow from them. A channel serves outputs in the order in which its device computes
// them, so a transfer's times are known as soon as its op starts. An op that ends concerns its own
// device alone, so that is settled just before something else touches the device's queue. Ops
// become ready and outputs are sent in time order, so every queue is a stretch of a plain array.
//
// `Slot` counts the devices in use in the byte order of their names, the order in which the rules
// serve events at one instant.
struct Simulator::Workspace {
  using Slot = std::uint32_t;

  // One device with its outgoing channel.
  struct Station {
    DeviceId device = 0;
    const double* costs_us = nullptr;
    double free_us = 0;             // when the device can take the next op
    double channel_free_us = 0;     // when its channel can take the next output
    OpId running = kNone;           // the last op started
    double settles_us = kNever;     // when it ends, kNever once its pending consumers are queued
    OpId* pending_begin = nullptr;  // its consumers that are ready as soon as it ends, by name
    OpId* pending_tail = nullptr;
    OpId* ready_begin = nullptr;  // queue of ready ops; those before `ready_head` were started
    OpId* ready_head = nullptr;
    OpId* ready_tail = nullptr;
    Transfer* sent_head = nullptr;  // transfers that have not arrived yet, in order
    Transfer* sent_tail = nullptr;
  };

  explicit Workspace(const Problem& compiled);

  void run(const Placement& placement) {
    reset(placement);
    for (;;) {
      const auto [source, is_tied] = earliest(events.data(), 2 * num_slots);
      const double now_us = events[source];
      if (now_us == kNever) {
        break;
      }
      if (source >= num_slots) {
        take_turn(static_cast<Slot>(source - num_slots), now_us);
      } else if (is_tied && others_arrive(source, now_us)) {
        deliver_all(static_cast<Slot>(source), now_us);
      } else {
        deliver(static_cast<Slot>(source), now_us);
      }
    }
    makespan_us = 0;
    for (Slot slot = 0; slot < num_slots; ++slot) {
      makespan_us = std::max({makespan_us, stations[slot].free_us, stations[slot].channel_free_us});
    }
  }

  // Event sources: each slot's next arrival from its channel, then each slot's turn (rule 5).
  double& arrival(Slot slot) { return events[slot]; }
  double& turn(Slot slot) { return events[num_slots + slot]; }

  void reset(const Placement& placement);
  bool others_arrive(std::size_t source, double now_us) const;
  void deliver(Slot slot, double now_us);
  void deliver_all(Slot first, double now_us);
  void settle(Station& station);
  void postpone(Station& station, OpId op);
  void take_turn(Slot slot, double now_us);
  void send(Station& station, Slot slot, OpId producer, std::int32_t output, double ready_us);
  void account_memory(const Placement& placement);

  const Problem& problem;
  const double gap_after_transfer_us;

  // Results, by op, output and device.
  double makespan_us = 0;
  std::vector<double> start_us;
  std::vector<double> end_us;
  std::vector<double> freed_us;
  std::vector<double> transfer_start_us;
  std::vector<double> transfer_end_us;
  std::vector<std::int64_t> peak_bytes;

  // The problem, as the engine reads it.
  std::vector<OpFacts> facts;       // by op
  std::vector<double> transfer_us;  // by output
  std::vector<OpId> roots;
  std::vector<std::size_t> group_ops;
  std::vector<std::size_t> group_outputs;

  std::vector<OpState> state;  // by op

  // State by slot. The queues are stretches of shared storage, one entry longer than needed,
  // because an op is written to the tail of a queue before it is known whether it stays.
  std::size_t num_slots = 0;
  std::vector<Station> stations;
  std::vector<double> events;  // in microseconds, kNever where nothing is to come
  std::vector<OpId> ready_storage;
  std::vector<OpId> pending_storage;
  std::vector<double> ready_start_us;  // beside ready_storage: when the op started
  std::vector<Transfer> sent_storage;

  // Scratch.
  std::vector<Slot> slot_of_device;
  std::vector<std::size_t> num_ready;
  std::vector<std::size_t> num_sent;
  std::vector<Slot> arriving;
  MemoryPeaks memory;
  std::vector<double> last_use_us;  // by op: when its inputs may be freed
  std::vector<double> frees_us;
  std::vector<std::int64_t> allocations;
};

Simulator::Workspace::Workspace(const Problem& compiled)
    : problem(compiled), gap_after_transfer_us(compiled.cluster().placeto.gap_after_transfer_us) {
  const std::size_t num_ops = index(problem.num_ops());
  const std::size_t num_outputs = index(problem.num_outputs());
  const std::size_t num_devices = index(problem.num_devices());
  for (std::vector<double>* by_op : {&start_us, &end_us, &freed_us, &last_use_us, &frees_us}) {
    by_op->resize(num_ops);
  }
  transfer_start_us.assign(num_outputs, kNotSent);
  transfer_end_us.assign(num_outputs, kNotSent);
  peak_bytes.resize(num_devices);
  for (std::int32_t output = 0; output < problem.num_outputs(); ++output) {
    transfer_us.push_back(static_cast<double>(problem.output_bytes(output)) /
                          problem.cluster().placeto.bytes_per_us);
  }
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const auto children = problem.children(op);
    const bool is_only = std::all_of(children.begin(), children.end(), [&](const auto& child) {
      return child.output == children.front().output;
    });
    const auto by_name = problem.children_by_name(op);
    facts.push_back(
        {.first_child = by_name.data(),
         .last_child = by_name.data() + by_name.size(),
         .gap_us = problem.gap_us(op),
         .num_parents = problem.num_parents(op),
         .only_output = children.empty() || !is_only ? kNone : children.front().output});
    if (problem.num_parents(op) == 0) {
      roots.push_back(op);
    }
  }
  group_ops.resize(index(problem.num_groups()));
  group_outputs.resize(index(problem.num_groups()));
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const auto [begin, end] = problem.outputs(op);
    group_ops[index(problem.grouping().group_of(op))] += 1;
    group_outputs[index(problem.grouping().group_of(op))] += index(end - begin);
  }
  state.resize(num_ops);
  stations.resize(num_devices);
  events.resize(2 * num_devices + kEventBlock);
  ready_storage.resize(num_ops + kPad * num_devices);
  pending_storage.resize(num_ops + kPad * num_devices);
  ready_start_us.resize(num_ops + kPad * num_devices);
  sent_storage.resize(num_outputs);
  slot_of_device.resize(num_devices);
  num_ready.resize(num_devices);
  num_sent.resize(num_devices);
  arriving.reserve(num_devices);
  memory.reserve(num_ops);
  allocations.resize(num_ops);
}

void Simulator::Workspace::reset(const Placement& placement) {
  const Grouping& grouping = problem.grouping();

  // Devices without ops have no events; the others get slots in the order of their names.
  std::fill(num_ready.begin(), num_ready.end(), 0);
  std::fill(num_sent.begin(), num_sent.end(), 0);
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    num_ready[index(placement[group])] += group_ops[index(group)];
    num_sent[index(placement[group])] += group_outputs[index(group)];
  }
  num_slots = 0;
  OpId* ready = ready_storage.data();
  OpId* pending = pending_storage.data();
  Transfer* sent = sent_storage.data();
  for (const DeviceId device : problem.devices_by_name()) {
    if (num_ready[index(device)] == 0) {
      continue;
    }
    slot_of_device[index(device)] = static_cast<Slot>(num_slots);
    stations[num_slots++] = {.device = device,
                             .costs_us = problem.costs_us(device).data(),
                             .pending_begin = pending,
                             .pending_tail = pending,
                             .ready_begin = ready,
                             .ready_head = ready,
                             .ready_tail = ready,
                             .sent_head = sent,
                             .sent_tail = sent};
    ready += num_ready[index(device)] + kPad;
    pending += num_ready[index(device)] + kPad;
    sent += num_sent[index(device)];
  }
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const DeviceId device = placement[grouping.group_of(op)];
    state[index(op)] = {slot_of_device[index(device)], facts[index(op)].num_parents, kNone};
  }
  std::fill(events.begin(), events.end(), kNever);

  // Ops without producers are ready from the start, in graph order (rule 6).
  for (const OpId op : roots) {
    *stations[state[index(op)].slot].ready_tail++ = op;
    turn(state[index(op)].slot) = 0;
  }
}

bool Simulator::Workspace::others_arrive(std::size_t source, double now_us) const {
  bool found = false;
  for (std::size_t other = source + 1; other < num_slots; ++other) {
    found |= events[other] == now_us;
  }
  return found;
}

// Hands the first transfer of a channel to its consumers (rules 9 and 10).
void Simulator::Workspace::deliver(Slot slot, double now_us) {
  Station& sender = stations[slot];
  const Transfer transfer = *sender.sent_head++;
  arrival(slot) = sender.sent_head == sender.sent_tail ? kNever : sender.sent_head->arrives_us;
  const OpFacts& producer = facts[index(transfer.producer)];
  for (const Problem::Child* child = producer.first_child; child != producer.last_child; ++child) {
    OpState& consumer = state[index(child->op)];
    const Slot home = consumer.slot;
    Station& station = stations[home];
    const bool is_receiver = (home != slot) & (child->output == transfer.output);
    if (is_receiver & (station.settles_us <= now_us)) {
      // What ends at this very instant comes in the order of producers' names, but before a
      // transfer that took no time, since that starts only after what ends at this instant.
      if (station.settles_us < now_us || transfer.start_us == now_us ||
          problem.name_rank(station.running) < problem.name_rank(transfer.producer)) {
        settle(station);
      }
    }
    consumer.waiting -= is_receiver;
    bool is_ready = is_receiver & (consumer.waiting == 0);
    if (is_ready & (station.settles_us != kNever) &
        (consumer.last_local_producer == station.running)) {
      postpone(station, child->op);
      is_ready = false;
    }
    *station.ready_tail = child->op;
    station.ready_tail += is_ready;
    turn(home) = std::min(turn(home), is_ready ? std::max(now_us, station.free_us) : kNever);
  }
}

// Delivers the transfers that arrive now: first those under way, in the order of their producers'
// names; then one that takes no time, of the first channel (rule 5).
void Simulator::Workspace::deliver_all(Slot first, double now_us) {
  arriving.clear();
  for (Slot slot = first; slot < num_slots; ++slot) {
    if (arrival(slot) == now_us && stations[slot].sent_head->start_us < now_us) {
      arriving.push_back(slot);
    }
  }
  const auto rank = [&](Slot slot) {
    return problem.name_rank(stations[slot].sent_head->producer);
  };
  std::sort(arriving.begin(), arriving.end(), [&](Slot a, Slot b) { return rank(a) < rank(b); });
  if (arriving.empty()) {
    arriving.push_back(first);
  }
  for (const Slot slot : arriving) {
    deliver(slot, now_us);
  }
}

// Queues the consumers that became ready when the device's last op ended (rule 10).
void Simulator::Workspace::settle(Station& station) {
  const std::ptrdiff_t count = station.pending_tail - station.pending_begin;
  std::copy_n(station.pending_begin, kPad, station.ready_tail);  // mostly enough, and no loop
  if (count > static_cast<std::ptrdiff_t>(kPad)) {
    std::copy(station.pending_begin + kPad, station.pending_tail, station.ready_tail + kPad);
  }
  station.ready_tail += count;
  station.pending_tail = station.pending_begin;
  station.settles_us = kNever;
}

// Keeps an op that waits for the running one only, in the order of names.
void Simulator::Workspace::postpone(Station& station, OpId op) {
  OpId* const place =
      std::upper_bound(station.pending_begin, station.pending_tail, op,
                       [&](OpId a, OpId b) { return problem.name_rank(a) < problem.name_rank(b); });
  std::copy_backward(place, station.pending_tail, station.pending_tail + 1);
  *place = op;
  ++station.pending_tail;
}

// Runs the first op of the device's queue and sends what other devices want of it (rules 7 and 8).
void Simulator::Workspace::take_turn(Slot slot, double now_us) {
  Station& station = stations[slot];
  settle(station);
  if (station.ready_head == station.ready_tail) {
    turn(slot) = kNever;
    return;
  }
  ready_start_us[static_cast<std::size_t>(station.ready_head - ready_storage.data())] = now_us;
  const OpId op = *station.ready_head++;
  const OpFacts& fact = facts[index(op)];
  const double cost_us = station.costs_us[op];
  const double end = now_us + cost_us;
  start_us[index(op)] = now_us;
  end_us[index(op)] = end;
  last_use_us[index(op)] = whole(now_us) + whole(cost_us) - 1;
  station.free_us = end + fact.gap_us;
  station.running = op;
  station.settles_us = end;
  turn(slot) = station.free_us;

  std::int32_t num_elsewhere = 0;
  OpId* pending = station.pending_tail;
  for (const Problem::Child* child = fact.first_child; child != fact.last_child; ++child) {
    OpState& consumer = state[index(child->op)];
    const std::int32_t is_local = consumer.slot == slot;
    consumer.waiting -= is_local;
    consumer.last_local_producer ^= (consumer.last_local_producer ^ op) & -is_local;
    *pending = child->op;
    pending += is_local & static_cast<std::int32_t>(consumer.waiting == 0);
    num_elsewhere += 1 - is_local;
  }
  station.pending_tail = pending;
  if (fact.only_output != kNone) {
    transfer_start_us[index(fact.only_output)] = kNotSent;
    if (num_elsewhere > 0) {
      send(station, slot, op, fact.only_output, end);
    }
    return;
  }
  const auto [first, last] = problem.outputs(op);
  std::fill(transfer_start_us.begin() + first, transfer_start_us.begin() + last, kNotSent);
  for (const Problem::Child& child : problem.children(op)) {
    if (state[index(child.op)].slot != slot && transfer_start_us[index(child.output)] == kNotSent) {
      send(station, slot, op, child.output, end);
    }
  }
}

// Sends an output to all devices that want it, in one transfer, after those queued before it (rule
// 9).
void Simulator::Workspace::send(Station& station, Slot slot, OpId producer, std::int32_t output,
                                double ready_us) {
  const double start = std::max(station.channel_free_us, ready_us);
  const double arrives = start + transfer_us[index(output)];
  transfer_start_us[index(output)] = start;
  transfer_end_us[index(output)] = arrives;
  station.channel_free_us = arrives + gap_after_transfer_us;
  if (station.sent_head == station.sent_tail) {
    arrival(slot) = arrives;
  }
  *station.sent_tail++ = {start, arrives, output, producer};
}

// Persistent bytes for the whole step and each op's outputs from its start until 1 us before the
// truncated end of its last consumer, wherever that runs (rules 14 and 15).
void Simulator::Workspace::account_memory(const Placement& placement) {
  std::fill(peak_bytes.begin(), peak_bytes.end(), 0);
  for (Slot slot = 0; slot < num_slots; ++slot) {
    const Station& station = stations[slot];
    const auto begin = static_cast<std::size_t>(station.ready_begin - ready_storage.data());
    const auto count = static_cast<std::size_t>(station.ready_head - station.ready_begin);
    for (std::size_t position = 0; position < count; ++position) {
      const OpId op = station.ready_begin[position];
      double freed = ready_start_us[begin + position];
      const OpFacts& fact = facts[index(op)];
      for (const Problem::Child* child = fact.first_child; child != fact.last_child; ++child) {
        freed = std::max(freed, last_use_us[index(child->op)]);
      }
      freed_us[index(op)] = freed;
      frees_us[position] = freed;
      allocations[position] = problem.allocated_bytes(op);
    }
    peak_bytes[index(station.device)] =
        memory.peak({ready_start_us.data() + begin, count}, {frees_us.data(), count},
                    {allocations.data(), count});
  }
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    peak_bytes[index(placement[group])] += problem.group_persistent_bytes(group);
  }
}

Simulator::Simulator(const Problem& problem)
    : problem_(problem), workspace_(std::make_unique<Workspace>(problem)) {}
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator::~Simulator() = default;

const SimResult& Simulator::run(const Placement& placement) {
  EMPLACE_CHECK(placement.size() == problem_.num_groups(),
                "a placement of {} groups for a problem of {}", placement.size(),
                problem_.num_groups());
  for (const DeviceId device : placement.devices()) {
    EMPLACE_CHECK(device >= 0 && device < problem_.num_devices(), "no device {}", device);
  }
  Workspace& work = *workspace_;
  work.run(placement);
  work.account_memory(placement);

  result_ = {.status = StepStatus::kOk,
             .makespan_us = work.makespan_us,
             .start_us = work.start_us,
             .end_us = work.end_us,
             .freed_us = work.freed_us,
             .transfer_start_us = work.transfer_start_us,
             .transfer_end_us = work.transfer_end_us,
             .peak_bytes = work.peak_bytes,
             .worst_device = 0,
             .bytes_over = 0};
  std::int64_t worst_over = std::numeric_limits<std::int64_t>::min();
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    const std::int64_t over = work.peak_bytes[index(device)] - problem_.memory_bytes(device);
    result_.bytes_over += std::max<std::int64_t>(over, 0);
    if (over > worst_over) {
      worst_over = over;
      result_.worst_device = device;
    }
  }
  result_.status = result_.bytes_over > 0 ? StepStatus::kOutOfMemory : StepStatus::kOk;
  return result_;
}

}  // namespace emplace

#include "instant.hpp"
#include "physical_engine.hpp"

#include <algorithm>
#include <tuple>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// For heaps, whose first element is the one after which no other comes.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.at_us != b.at_us ? a.at_us > b.at_us : a.name > b.name;
};

}  // namespace

void PhysicalEngine::simulate(const Placement& placement) {
  reset(placement);
  woken_.assign(roots_.begin(), roots_.end());
  queue_woken();
  bool is_stopped = false;
  for (;;) {
    dispatch();
    network_.share(now_us_);
    const double next_us = has_next() ? gather() : std::numeric_limits<double>::infinity();
    if (next_us > now_us_) {  // else this instant goes on, with ops that took no time
      count_memory();
    }
    is_stopped = is_out_of_memory_ && stop_when_out_of_memory_;
    if (is_stopped || next_us == std::numeric_limits<double>::infinity()) {
      break;
    }
    now_us_ = next_us;
    for (const OpId op : ended_ops_) {
      finish_op(op);
    }
    for (const Network::Ended& flow : ended_flows_) {
      deliver(flow.flow, flow.at_us);
    }
    for (const std::int32_t transfer : arrived_) {
      enter_network(transfer);
    }
    while (num_sent_ < transfers_.size()) {
      send(static_cast<std::int32_t>(num_sent_++));
    }
    queue_woken();
  }
  if (base_ != Base::kReplay) {  // a replay that ran out of memory is still a base
    base_ = is_stopped ? Base::kNone : Base::kFull;
  }
  makespan_us_ = is_stopped ? now_us_ : *std::max_element(end_us_.begin(), end_us_.end());
}

bool PhysicalEngine::has_next() const {
  return !events_.empty() || network_.next_end_us() < std::numeric_limits<double>::infinity();
}

// Takes out all that ends next, in the order of names; returns when the last of it does.
double PhysicalEngine::gather() {
  const double first_us = events_.empty() ? network_.next_end_us()
                                          : std::min(events_.front().at_us, network_.next_end_us());
  const double until_us = end_of_instant(first_us);
  double now_us = first_us;
  ended_ops_.clear();
  arrived_.clear();
  ended_flows_.clear();
  while (!events_.empty() && events_.front().at_us <= until_us) {
    const Event event = events_.front();
    std::pop_heap(events_.begin(), events_.end(), kLater);
    events_.pop_back();
    now_us = std::max(now_us, event.at_us);
    if (event.name < num_ops_) {
      ended_ops_.push_back(event.name);
    } else {
      arrived_.push_back(event.name - num_ops_);
    }
  }
  network_.take_ended(until_us, ended_flows_);
  for (const Network::Ended& flow : ended_flows_) {
    now_us = std::max(now_us, flow.at_us);
  }
  std::sort(ended_ops_.begin(), ended_ops_.end());
  std::sort(arrived_.begin(), arrived_.end());
  std::sort(ended_flows_.begin(), ended_flows_.end(),
            [](const Network::Ended& a, const Network::Ended& b) { return a.flow < b.flow; });
  return now_us;
}

// Frees what the op used, and lets those start that waited for it on its device (rules 1 and 4).
void PhysicalEngine::finish_op(OpId op) {
  const DeviceId device = device_[index(op)];
  Station& station = stations_[index(device)];
  ++station.free_slots;
  idle_.push_back(device);
  station.live_bytes -= workspace_bytes_[index(op)];
  for (const std::int32_t input : problem_.inputs(op)) {
    const Problem::Use& use = problem_.uses()[index(input)];
    if (use.output == Dependency::kControl) {
      continue;
    }
    if (transfer_of_[index(input)] == kNone) {
      release_output(use.output, device);
      continue;
    }
    TransferState& transfer = transfers_[index(transfer_of_[index(input)])];
    if (--transfer.consumers == 0) {
      transfer.freed_us = now_us_;
      station.live_bytes -= problem_.output_bytes(use.output);
    }
  }
  const auto uses = problem_.uses();
  auto [use, end] = problem_.uses_of(op);
  const auto [first_output, last_output] = problem_.outputs(op);
  for (std::int32_t output = first_output; output < last_output; ++output) {
    const std::int32_t first_use = use;
    while (use < end && uses[index(use)].output == output) {
      ++use;
    }
    output_uses_[index(output)] = route_output(op, first_use, use);
    if (output_uses_[index(output)] == 0) {
      output_uses_[index(output)] = 1;
      release_output(output, device);
    }
  }
  for (; use < end; ++use) {
    wake(uses[index(use)].consumer);
  }
}

// Wakes the consumers of an output that are on its device, and makes one transfer for each other
// device, in their order; returns how many uses the output has there: local ones and transfers.
std::int32_t PhysicalEngine::route_output(OpId producer, std::int32_t first_use,
                                          std::int32_t last_use) {
  const auto uses = problem_.uses();
  const DeviceId from = device_[index(producer)];
  const std::size_t first_transfer = transfers_.size();
  std::int32_t num_local = 0;
  for (std::int32_t use = first_use; use < last_use; ++use) {
    const DeviceId to = device_[index(uses[index(use)].consumer)];
    if (to == from) {
      ++num_local;
      transfer_of_[index(use)] = kNone;
      wake(uses[index(use)].consumer);
    } else if (std::none_of(transfers_.begin() + static_cast<std::ptrdiff_t>(first_transfer),
                            transfers_.end(),
                            [to](const TransferState& transfer) { return transfer.to == to; })) {
      transfers_.push_back({.producer = producer,
                            .output = uses[index(use)].output,
                            .first_use = first_use,
                            .from = from,
                            .to = to,
                            .consumers = 0,
                            .start_us = now_us_,
                            .end_us = kNotYet,
                            .freed_us = kNotYet});
    }
  }
  if (transfers_.size() == first_transfer) {
    return num_local;
  }
  std::sort(transfers_.begin() + static_cast<std::ptrdiff_t>(first_transfer), transfers_.end(),
            [](const TransferState& a, const TransferState& b) { return a.to < b.to; });
  for (std::int32_t use = first_use; use < last_use; ++use) {
    const DeviceId to = device_[index(uses[index(use)].consumer)];
    if (to != from) {
      std::size_t transfer = first_transfer;
      while (transfers_[transfer].to != to) {
        ++transfer;
      }
      transfer_of_[index(use)] = static_cast<std::int32_t>(transfer);
      ++transfers_[transfer].consumers;
    }
  }
  return num_local + static_cast<std::int32_t>(transfers_.size() - first_transfer);
}

// Takes memory for the copy, and waits for the latency of the route (rules 2 and 4).
void PhysicalEngine::send(std::int32_t transfer) {
  const TransferState& facts = transfers_[index(transfer)];
  allocate(facts.to, problem_.output_bytes(facts.output));
  const double latency_us = latency_us_[index(facts.from * problem_.num_devices() + facts.to)];
  if (latency_us > 0) {
    events_.push_back({now_us_ + latency_us, num_ops_ + transfer});
    std::push_heap(events_.begin(), events_.end(), kLater);
  } else {
    enter_network(transfer);
  }
}

void PhysicalEngine::enter_network(std::int32_t transfer) {
  const TransferState& facts = transfers_[index(transfer)];
  const double bytes =
      static_cast<double>(problem_.output_bytes(facts.output)) + bytes_of_overhead_;
  if (bytes < min_bytes_) {
    deliver(transfer, now_us_);
  } else {
    network_.add(transfer, facts.from, facts.to, bytes, now_us_);
  }
}

void PhysicalEngine::deliver(std::int32_t transfer, double at_us) {
  TransferState& facts = transfers_[index(transfer)];
  facts.end_us = at_us;
  release_output(facts.output, facts.from);
  const auto uses = problem_.uses();
  for (std::int32_t use = facts.first_use, left = facts.consumers; left > 0; ++use) {
    if (transfer_of_[index(use)] == transfer) {
      wake(uses[index(use)].consumer);
      --left;
    }
  }
}

// Counts off one use of an output on its producer's device, and frees it after the last.
void PhysicalEngine::release_output(std::int32_t output, DeviceId device) {
  if (--output_uses_[index(output)] == 0) {
    output_freed_us_[index(output)] = now_us_;
    stations_[index(device)].live_bytes -= problem_.output_allocated_bytes(output);
  }
}

void PhysicalEngine::wake(OpId op) {
  if (--waiting_[index(op)] == 0) {
    woken_.push_back(op);
  }
}

bool PhysicalEngine::runs_before(const Entry& a, const Entry& b) const {
  if (by_priority_ && problem_.priority_us(a.op) != problem_.priority_us(b.op)) {
    return problem_.priority_us(a.op) > problem_.priority_us(b.op);
  }
  return std::tie(a.ready_us, a.op) < std::tie(b.ready_us, b.op);
}

// Puts the ops that became ready at this instant into the queues of their devices.
void PhysicalEngine::queue_woken() {
  std::sort(woken_.begin(), woken_.end());
  for (const OpId op : woken_) {
    Station& station = stations_[index(device_[index(op)])];
    Entry* at = station.tail++;
    *at = {now_us_, op};
    if (by_priority_) {
      std::push_heap(station.begin, station.tail,
                     [this](const Entry& a, const Entry& b) { return runs_before(b, a); });
    } else {
      // Only ops of this very instant can be out of place: those woken by what took no time.
      for (; at != station.head && runs_before(*at, at[-1]); --at) {
        std::swap(*at, at[-1]);
      }
    }
    idle_.push_back(device_[index(op)]);
  }
  woken_.clear();
}

void PhysicalEngine::dispatch() {
  for (const DeviceId device : idle_) {
    Station& station = stations_[index(device)];
    while (station.free_slots > 0 && station.head != station.tail) {
      --station.free_slots;
      start_op(device, take_ready(station));
    }
  }
  idle_.clear();
}

OpId PhysicalEngine::take_ready(Station& station) {
  if (!by_priority_) {
    return (station.head++)->op;
  }
  std::pop_heap(station.begin, station.tail,
                [this](const Entry& a, const Entry& b) { return runs_before(b, a); });
  return (--station.tail)->op;
}

void PhysicalEngine::start_op(DeviceId device, OpId op) {
  start_us_[index(op)] = now_us_;
  end_us_[index(op)] = now_us_ + problem_.busy_us(op, device);
  events_.push_back({end_us_[index(op)], op});
  std::push_heap(events_.begin(), events_.end(), kLater);
  allocate(device, problem_.allocated_bytes(op) + workspace_bytes_[index(op)]);
}

}  // namespace emplace

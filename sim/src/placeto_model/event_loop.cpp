#include "event_loop.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace emplace::placeto_model {

EventLoop::EventLoop(const Problem& problem, const CostTable& costs, const OpTable& table,
                     StepTimes& times)
    : problem_(problem),
      costs_(costs),
      table_(table),
      times_(times),
      gap_us_{0, problem.cluster().placeto.gap_after_op_us},
      rows_(table.rows),
      start_us_(times.start_us),
      end_us_(times.end_us),
      last_uses_us_(times.last_uses_us),
      transfer_start_us_(times.transfer_start_us),
      transfer_end_us_(times.transfer_end_us),
      more_consumers_(table.more_consumers.data()),
      gap_after_transfer_us_(times.gap_after_transfer_us),
      priorities_(problem) {
  const auto num_ops = static_cast<std::size_t>(problem.num_ops());
  const auto num_devices = static_cast<std::size_t>(problem.num_devices());
  state_.resize(num_ops + 1);
  devices_.resize((num_devices + kDeviceBlock - 1) / kDeviceBlock * kDeviceBlock + 1);
  queue_storage_.resize(1 + num_ops + num_devices + 1);
  slot_of_device_.resize(num_devices);
  ready_.resize(num_devices);
}

void EventLoop::run(const Placement& placement, IdSpan<DeviceId, const PlacedOps> loads) {
  reset(placement, loads);
  for (DeviceState* next = &next_device(); next->dispatch_at != kNever; next = &next_device()) {
    dispatch(*next);
  }
  makespan_us_ = 0;
  for (const DeviceState& device : devices()) {
    makespan_us_ = std::max({makespan_us_, microseconds(device.free_at), device.channel_free_us});
  }
}

// Runs the next op of a device, sends what other devices want of it, and notifies its consumers
// when they will have what they read (rules 7 to 9).
void EventLoop::dispatch(DeviceState& device) {
  if (priorities_.exist()) [[unlikely]] {
    choose_by_priority(device);
  }
  const Dispatched dispatched = start_next_op(device);
  if (!send_only_output(device, dispatched)) [[unlikely]] {
    send_outputs(device, dispatched);
  }
  const bool has_work = device.queue_head != device.queue_tail;
  device.dispatch_at = only_if(has_work, std::max(device.free_at, device.queue_head->at));
}

void EventLoop::reset(const Placement& placement, IdSpan<DeviceId, const PlacedOps> loads) {
  const Grouping& grouping = problem_.grouping();

  // Devices without ops dispatch nothing; the others get slots in the order of their names.
  std::fill(devices_.begin(), devices_.end(), DeviceState{});
  num_slots_ = 0;
  ReadyOp* queue = queue_storage_.data() + 1;  // an entry may look at the one before it
  for (const DeviceId device : problem_.devices_by_name()) {
    if (loads[device].num_ops > 0) {
      devices_[num_slots_] = {.costs_us = costs_.on(device).data(),
                              .queue_begin = queue,
                              .queue_head = queue,
                              .queue_tail = queue,
                              .device = device,
                              .slot = static_cast<std::uint32_t>(num_slots_)};
      slot_of_device_[device] = static_cast<std::uint32_t>(num_slots_++);
      queue += loads[device].num_ops + 1;
    }
  }
  DeviceState& device_of_sentinel = devices_.back();
  device_of_sentinel.slot = static_cast<std::uint32_t>(devices_.size() - 1);
  device_of_sentinel.queue_head = device_of_sentinel.queue_tail = queue;
  state_[table_.sentinel()] = {
      {0, 0}, std::numeric_limits<std::int32_t>::max(), device_of_sentinel.slot};
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const DeviceId device = placement[grouping.group_of(op)];
    state_[op] = {
        {0, static_cast<std::uint64_t>(op)}, problem_.num_parents(op), slot_of_device_[device]};
  }
  priorities_.set(placement);
  if (priorities_.exist()) {
    for (std::size_t slot = 0; slot < num_slots_; ++slot) {
      ready_[slot].clear();
      ready_[slot].reserve(loads[devices_[slot].device].num_ops);
    }
  }
  num_at_once_ = 0;
  next_dispatched_ = times_.dispatch_order.data();

  // Ops without producers are ready from the start, in graph order (rule 6).
  for (const OpId op : table_.roots) {
    DeviceState& device = devices_[state_[op].slot];
    *device.queue_tail++ = {0, op};
    device.dispatch_at = 0;
  }
}

// Returns the first of the devices that dispatch earliest: a tournament in each block.
inline DeviceState& EventLoop::next_device() {
  std::size_t earliest = 0;
  TimeBits least = kNever;
  for (std::size_t slot = 0; slot < num_slots_; slot += kDeviceBlock) {
    const DeviceState* const block = &devices_[slot];
    static_assert(kDeviceBlock == 4);
    const TimeBits left = std::min(block[0].dispatch_at, block[1].dispatch_at);
    const TimeBits right = std::min(block[2].dispatch_at, block[3].dispatch_at);
    const bool in_left = block[1].dispatch_at < block[0].dispatch_at;
    const bool in_right = block[3].dispatch_at < block[2].dispatch_at;
    const std::size_t winner = choose(right < left, std::size_t{2} | in_right, in_left);
    const TimeBits at = std::min(left, right);
    earliest = choose(at < least, slot | winner, earliest);
    least = std::min(at, least);
  }
  return devices_[earliest];
}

inline EventLoop::Dispatched EventLoop::start_next_op(DeviceState& device) {
  const double start_us = microseconds(device.dispatch_at);
  const OpId op = (device.queue_head++)->op;
  const double cost_us = device.costs_us[op];
  const double end_us = start_us + cost_us;
  *next_dispatched_++ = op;
  start_us_[op] = start_us;
  end_us_[op] = end_us;
  last_uses_us_[op] = StepTimes::last_use_us(start_us, cost_us);
  device.free_at = time_bits(end_us + gap_us_[rows_[op].has_gap]);
  return {op, start_us, end_us};
}

// Sends the only output of an op and notifies its consumers. Returns false, and does nothing, if
// the op has several outputs, or it or the transfer takes no time.
inline bool EventLoop::send_only_output(DeviceState& device, const Dispatched& dispatched) {
  const OpTable::Row& row = rows_[dispatched.op];
  const double end_us = dispatched.end_us;
  const double sent_us = std::max(device.channel_free_us, end_us);
  const double arrives_us = sent_us + row.transfer_us;
  // Without a branch for each condition.
  if (!((row.only_output != StepTimes::kNone) & (end_us > dispatched.start_us) &
        (arrives_us > sent_us))) [[unlikely]] {
    return false;
  }
  const EventKey here{time_bits(end_us), row.name_rank};
  const EventKey elsewhere{time_bits(arrives_us), row.name_rank};
  std::int32_t num_local = notify_block(device, row.consumers, here, elsewhere);
  const OpId* block = more_consumers_ + row.more_consumers;
  for (std::int32_t at = OpTable::kBlock; at < row.num_consumers; at += OpTable::kBlock) {
    num_local += notify_block(device, block, here, elsewhere);
    block += OpTable::kBlock;
  }
  const bool is_sent = num_local < row.num_consumers;
  const double free_if[] = {device.channel_free_us, arrives_us + gap_after_transfer_us_};
  device.channel_free_us = free_if[is_sent];
  return true;
}

// Notifies some consumers, with the keys for those on the producer's device and for those
// elsewhere, which differ in time alone; returns how many are on the device.
inline std::int32_t EventLoop::notify_block(const DeviceState& device, const OpId* block,
                                            const EventKey& here, const EventKey& elsewhere) {
  std::int32_t num_local = 0;
#pragma GCC unroll 4
  for (std::int32_t at = 0; at < OpTable::kBlock; ++at) {
    const bool is_local = state_[block[at]].slot == device.slot;
    num_local += is_local;
    notify(block[at], {choose(is_local, here.at, elsewhere.at), here.order});
  }
  return num_local;
}

// Does the same for any op: sends each output that is wanted elsewhere once, in the order of first
// mention, and notifies the consumers.
void EventLoop::send_outputs(DeviceState& device, const Dispatched& dispatched) {
  const auto [op, start_us, end_us] = dispatched;
  device.channel_free_us = times_.send(problem_, op, device.channel_free_us, [&](OpId consumer) {
    return state_[consumer].slot != device.slot;
  });
  for (const Problem::Child& child : problem_.children_by_name(op)) {
    const bool is_local = state_[child.op].slot == device.slot;
    const double begin_us = is_local ? start_us : transfer_start_us_[child.output];
    const double known_us = is_local ? end_us : transfer_end_us_[child.output];
    std::uint64_t order = rows_[op].name_rank;
    if (known_us == begin_us) {
      order = begin_us > start_us
                  ? kAtOnceByChannel | std::uint64_t{device.slot} << OpTable::kRankBits
                  : kAtOnceAsItComes;
      order |= num_at_once_++;
    }
    notify(child.op, {time_bits(known_us), order});
  }
}

// Tells one consumer when it has what it reads; if that was the last it waited for, queues it (rule
// 10).
inline void EventLoop::notify(OpId op, EventKey delivery) {
  OpState& consumer = state_[op];
  bool is_last = delivery.at > consumer.ready.at;
  if (delivery.at == consumer.ready.at) [[unlikely]] {
    is_last = delivery.order > consumer.ready.order;
  }
  const TimeBits at = std::max(delivery.at, consumer.ready.at);
  consumer.ready = {at, choose(is_last, delivery.order, consumer.ready.order)};
  __builtin_prefetch(rows_.data() + op);  // it will be dispatched before long
  const bool is_ready = --consumer.waiting == 0;

  // The entry is written in any case; it stays if the tail of the queue moves behind it.
  DeviceState& device = devices_[consumer.slot];
  ReadyOp* const entry = device.queue_tail;
  *entry = {at, op};
  device.queue_tail += is_ready;
  const TimeBits ready_at = only_if(is_ready, at);
  device.dispatch_at = std::min(device.dispatch_at, std::max(device.free_at, ready_at));
  if (entry[-1].at >= ready_at) {
    insert_by_time(device, entry);
  }
}

// Orders ready ops as their queue does. Among equal times consumers go by name.
inline auto EventLoop::place_in_queue(OpId op) const {
  const EventKey& ready = state_[op].ready;
  return std::tuple(ready.at, ready.order, problem_.name_rank(op));
}

// Moves the last entry of a queue to its place.
void EventLoop::insert_by_time(DeviceState& device, ReadyOp* last) {
  const ReadyOp inserted = *last;
  const ReadyOp* const first =
      device.queue_head + (priorities_.exist() ? ready_[device.slot].size() : 0);
  while (last != first && (last[-1].at > inserted.at ||
                           (last[-1].at == inserted.at &&
                            place_in_queue(last[-1].op) > place_in_queue(inserted.op)))) {
    *last = last[-1];
    --last;
  }
  *last = inserted;
}

// Puts the op that runs next at the head of the queue. The heap holds the first ops of the queue,
// those that were ready at a dispatch before; their entries only keep its length.
void EventLoop::choose_by_priority(DeviceState& device) {
  std::vector<OpId>& ready = ready_[device.slot];
  const auto runs_after = [this](OpId a, OpId b) {
    const auto order = priorities_.compare(a, b);
    return std::is_neq(order) ? std::is_lt(order) : place_in_queue(a) > place_in_queue(b);
  };
  for (const ReadyOp* entry = device.queue_head + ready.size();
       entry != device.queue_tail && entry->at <= device.dispatch_at; ++entry) {
    ready.push_back(entry->op);
    std::ranges::push_heap(ready, runs_after);
  }
  std::ranges::pop_heap(ready, runs_after);
  device.queue_head->op = ready.back();
  ready.pop_back();
}

}  // namespace emplace::placeto_model

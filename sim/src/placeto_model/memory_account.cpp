#include "memory_account.hpp"

#include <algorithm>

namespace emplace::placeto_model {

MemoryAccount::MemoryAccount(const Problem& problem, const OpTable& table)
    : problem_(problem), table_(table) {
  const auto num_ops = static_cast<std::size_t>(problem.num_ops());
  const auto num_devices = static_cast<std::size_t>(problem.num_devices());
  freed_us_.resize(num_ops);
  peak_bytes_.resize(num_devices);
  peaks_.reserve(num_ops);
  ops_.resize(num_ops + num_devices);
  starts_us_.resize(num_ops + num_devices);
  frees_us_.resize(num_ops + num_devices);
  bytes_.resize(num_ops + num_devices);
  ends_.resize(num_devices);
}

// The queues hold the ops of each device in the order of their starts.
void MemoryAccount::after_full_run(const StepTimes& times, IdSpan<DeviceId, const PlacedOps> loads,
                                   const EventLoop& loop) {
  free_outputs(times);
  std::fill(peak_bytes_.begin(), peak_bytes_.end(), 0);
  for (const DeviceState& device : loop.devices()) {
    std::size_t count = 0;
    for (const ReadyOp& dispatched : device.dispatched()) {
      starts_us_[count] = times.start_us[dispatched.op];
      frees_us_[count] = freed_us_[dispatched.op];
      bytes_[count] = problem_.allocated_bytes(dispatched.op);
      ++count;
    }
    peak_bytes_[device.device] =
        peaks_.peak({starts_us_.data(), count}, {frees_us_.data(), count}, {bytes_.data(), count});
  }
  add_persistent_bytes(loads);
  is_remembered_ = false;
}

// The dispatch order holds the ops of all devices in the order of their starts. Ops that allocate
// nothing are left out: each op is written behind the others of its device, and stays if their end
// moves behind it.
void MemoryAccount::after_incremental_run(const Placement& placement, const StepTimes& times,
                                          IdSpan<DeviceId, const PlacedOps> loads) {
  free_outputs(times);
  std::size_t begin = 0;
  for (DeviceId device = 0; device < ends_.end_id(); ++device) {
    ends_[device] = begin;
    begin += loads[device].num_ops + 1;
  }
  for (const OpId op : times.dispatch_order) {
    std::size_t& end = ends_[placement[problem_.grouping().group_of(op)]];
    ops_[end] = op;
    starts_us_[end] = times.start_us[op];
    frees_us_[end] = freed_us_[op];
    bytes_[end] = problem_.allocated_bytes(op);
    end += bytes_[end] != 0;
  }
  begin = 0;
  for (DeviceId device = 0; device < ends_.end_id(); ++device) {
    const std::size_t count = ends_[device] - begin;
    const std::span starts_us = std::span<const double>(starts_us_).subspan(begin, count);
    const std::span frees_us = std::span<const double>(frees_us_).subspan(begin, count);
    const std::span bytes = std::span<const std::int64_t>(bytes_).subspan(begin, count);
    const std::span ops = std::span<const OpId>(ops_).subspan(begin, count);
    if (is_remembered_) {
      peak_bytes_[device] = peaks_.peak_again(starts_us, frees_us, bytes, ops);
    } else {
      peak_bytes_[device] = peaks_.peak(starts_us, frees_us, bytes);
      peaks_.remember(ops);
    }
    begin += loads[device].num_ops + 1;
  }
  add_persistent_bytes(loads);
  is_remembered_ = true;
}

void MemoryAccount::free_outputs(const StepTimes& times) {
  const auto last_use_us = [&](const OpId* block) {
    static_assert(OpTable::kBlock == 2);
    return std::max(times.last_uses_us[block[0]], times.last_uses_us[block[1]]);
  };
  for (OpId op = 0; op < freed_us_.end_id(); ++op) {
    const OpTable::Row& row = table_.rows[op];
    double freed_us = std::max(times.start_us[op], last_use_us(row.consumers));
    const OpId* block = table_.more_consumers.data() + row.more_consumers;
    for (std::int32_t at = OpTable::kBlock; at < row.num_consumers; at += OpTable::kBlock) {
      freed_us = std::max(freed_us, last_use_us(block));
      block += OpTable::kBlock;
    }
    freed_us_[op] = freed_us;
  }
}

void MemoryAccount::add_persistent_bytes(IdSpan<DeviceId, const PlacedOps> loads) {
  for (DeviceId device = 0; device < loads.end_id(); ++device) {
    peak_bytes_[device] += loads[device].persistent_bytes;
  }
}

}  // namespace emplace::placeto_model

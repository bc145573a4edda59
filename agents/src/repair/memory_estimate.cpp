#include "memory_estimate.hpp"

#include <algorithm>

namespace emplace::agents {

MemoryEstimate::MemoryEstimate(const Problem& problem)
    : problem_(problem),
      is_placeto_(problem.cluster().transfer_model == TransferModel::kPlaceto),
      producer_(problem.num_outputs()),
      runs_(problem.num_ops()),
      overwritten_(problem.num_ops()),
      freed_(problem.num_ops()),
      persistent_bytes_(problem.num_devices()),
      parts_(problem.num_groups()),
      read_until_(problem.num_devices()) {
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const auto [begin, end] = problem.outputs(op);
    std::fill(producer_.begin() + begin, producer_.begin() + end, op);
  }
  find_consumers();
  find_touches();
}

void MemoryEstimate::find_consumers() {
  struct Pair {
    OutputId output;
    OpId consumer;
  };
  std::vector<Pair> pairs;
  for (const Problem::Use& use : problem_.uses()) {
    if (use.output != Dependency::kControl) {
      pairs.push_back({problem_.storage(use.output), use.consumer});
    }
  }
  std::ranges::stable_sort(pairs, {}, &Pair::output);
  consumer_begin_.assign(producer_.size() + 1, 0);
  for (const Pair& pair : pairs) {
    consumers_.push_back(pair.consumer);
    consumer_begin_[pair.output + 1] = consumers_.size();
  }
  for (OutputId output = 0; output < producer_.end_id(); ++output) {
    consumer_begin_[output + 1] = std::max(consumer_begin_[output], consumer_begin_[output + 1]);
  }
}

// An input that is freed before an op that reads it has ended was overwritten by that op.
void MemoryEstimate::find_overwritten(const StepRecord& record) {
  std::fill(overwritten_.begin(), overwritten_.end(), kNone);
  for (const Allocation& allocation : record.allocations) {
    if (allocation.kind == Allocation::Kind::kWorkspace || allocation.output < 0) {
      continue;
    }
    for (const OpId consumer : consumers_of(allocation.output)) {
      if (problem_.works_in_place(consumer) && device_of(consumer) == allocation.device &&
          allocation.until_us < record.end_us[consumer]) {
        overwritten_[consumer] = allocation.output;
      }
    }
  }
}

void MemoryEstimate::find_touches() {
  struct Pair {
    GroupId group;
    Touch touch;
  };
  std::vector<Pair> pairs;
  for (OutputId output = 0; output < producer_.end_id(); ++output) {
    pairs.push_back({group_of(producer_[output]), {output, 0, true}});
    for (const OpId consumer : consumers_of(output)) {
      pairs.push_back({group_of(consumer), {output, 1, false}});
    }
  }
  // By group, then by output, since the sort is stable.
  std::ranges::stable_sort(pairs, {}, &Pair::group);
  touch_begin_.assign(index_of(problem_.num_groups()) + 1, 0);
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    const auto& [group, touch] = pairs[at];
    if (at > 0 && pairs[at - 1].group == group && touches_.back().output == touch.output) {
      touches_.back().num_readers += touch.num_readers;
    } else {
      touches_.push_back(touch);
    }
    touch_begin_[group + 1] = touches_.size();
  }
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    touch_begin_[group + 1] = std::max(touch_begin_[group], touch_begin_[group + 1]);
  }
}

// Returns the first position at or after a time.
std::size_t MemoryEstimate::position_of(double us) const {
  return static_cast<std::size_t>(std::lower_bound(starts_us_.begin(), starts_us_.end(), us) -
                                  starts_us_.begin());
}

void MemoryEstimate::start(const StepRecord& record) {
  placement_ = record.placement;
  end_us_ = record.end_us;
  starts_us_.assign(record.start_us.begin(), record.start_us.end());
  std::ranges::sort(starts_us_);
  starts_us_.erase(std::unique(starts_us_.begin(), starts_us_.end()), starts_us_.end());
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    runs_[op] = {position_of(record.start_us[op]), position_of(record.end_us[op])};
  }
  find_overwritten(record);
  if (is_placeto_) {
    for (const Allocation& allocation : record.allocations) {  // freed last of all in an instant
      freed_[allocation.op] = static_cast<std::size_t>(
          std::upper_bound(starts_us_.begin(), starts_us_.end(), allocation.until_us) -
          starts_us_.begin());
    }
  }

  curves_.assign(persistent_bytes_.size(), PeakTree(starts_us_.size()));
  std::fill(persistent_bytes_.begin(), persistent_bytes_.end(), 0);
  readers_.assign(producer_.size() * persistent_bytes_.size(), 0);
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    add_own(group, 1);
    for (const Touch& touch : touches(group)) {
      readers_[cell(touch.output, placement_[group])] += touch.num_readers;
    }
  }
  for (OutputId output = 0; output < producer_.end_id(); ++output) {
    add_output(output, 1);
  }
}

// Calls visit(interval, bytes) for what ops of the group take on their own device, whatever is
// where else: all of an op's outputs in the `placeto` model, else workspace.
template <class Visit>
void MemoryEstimate::visit_own(GroupId group, Visit visit) const {
  for (const OpId op : problem_.grouping().members(group)) {
    if (is_placeto_) {
      visit(Interval{runs_[op].begin, freed_[op]}, problem_.allocated_bytes(op));
    } else {
      visit(runs_[op], problem_.op(op).workspace_bytes);
    }
  }
}

// Calls visit(device, interval, bytes) for an output and its copies, where their places depend on
// its readers: outside of the `placeto` model. An output stays until its last reader there has
// ended and its transfers have.
template <class Visit>
void MemoryEstimate::visit_output(OutputId output, Visit visit) {
  if (is_placeto_ || problem_.output_bytes(output) == 0) {
    return;
  }
  const OpId op = producer_[output];
  const DeviceId home = device_of(op);
  std::fill(read_until_.begin(), read_until_.end(), 0);
  for (const OpId consumer : consumers_of(output)) {
    const Interval& run = runs_[consumer];
    std::size_t& until = read_until_[device_of(consumer)];
    until = std::max(until, overwritten_[consumer] == output ? run.begin : run.end);
  }
  std::size_t home_until = std::max(runs_[op].end, read_until_[home]);
  // What is sent between two starts is there with what is at the earlier one.
  const std::size_t next = runs_[op].end;
  const bool starts_then = next < starts_us_.size() && starts_us_[next] == end_us_[op];
  const std::size_t sent = starts_then ? next : next - 1;
  for (DeviceId device = 0; device < read_until_.end_id(); ++device) {
    if (device == home || read_until_[device] == 0) {
      continue;
    }
    const std::int64_t bytes = problem_.output_bytes(output);
    const double arrives_us = end_us_[op] + problem_.transfer_us(bytes, home, device);
    home_until = std::max(home_until, position_of(arrives_us));
    visit(device, Interval{sent, read_until_[device]}, bytes);
  }
  visit(home, Interval{runs_[op].begin, home_until}, problem_.output_allocated_bytes(output));
}

void MemoryEstimate::add_own(GroupId group, std::int64_t sign) {
  const DeviceId device = placement_[group];
  persistent_bytes_[device] += sign * problem_.group_persistent_bytes(group);
  visit_own(group, [&](const Interval& interval, std::int64_t bytes) {
    curves_[device].add(interval.begin, interval.end, sign * bytes);
  });
}

void MemoryEstimate::add_output(OutputId output, std::int64_t sign) {
  visit_output(output, [&](DeviceId device, const Interval& interval, std::int64_t bytes) {
    curves_[device].add(interval.begin, interval.end, sign * bytes);
  });
}

void MemoryEstimate::move(GroupId group, DeviceId device) {
  const DeviceId from = placement_[group];
  for (const Touch& touch : touches(group)) {
    add_output(touch.output, -1);
    readers_[cell(touch.output, from)] -= touch.num_readers;
    readers_[cell(touch.output, device)] += touch.num_readers;
  }
  add_own(group, -1);
  placement_[group] = device;
  add_own(group, 1);
  for (const Touch& touch : touches(group)) {
    add_output(touch.output, 1);
  }
}

IdSpan<GroupId, const double> MemoryEstimate::parts_of_peak(DeviceId device) {
  const std::size_t peak = curves_[device].position_of_peak();
  std::fill(parts_.begin(), parts_.end(), 0);
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    if (placement_[group] != device) {
      continue;
    }
    parts_[group] += static_cast<double>(problem_.group_persistent_bytes(group));
    visit_own(group, [&](const Interval& interval, std::int64_t bytes) {
      parts_[group] += interval.contains(peak) ? static_cast<double>(bytes) : 0;
    });
  }
  for (OutputId output = 0; output < producer_.end_id(); ++output) {
    const OpId op = producer_[output];
    if (device_of(op) != device && readers_[cell(output, device)] == 0) {
      continue;
    }
    visit_output(output, [&](DeviceId where, const Interval& interval, std::int64_t bytes) {
      if (where != device || bytes == 0 || !interval.contains(peak)) {
        return;
      }
      holders_.clear();
      if (device_of(op) == device) {
        holders_.push_back(group_of(op));
      }
      for (const OpId consumer : consumers_of(output)) {
        if (device_of(consumer) == device && runs_[consumer].end > peak) {
          holders_.push_back(group_of(consumer));
        }
      }
      std::ranges::sort(holders_);
      holders_.erase(std::unique(holders_.begin(), holders_.end()), holders_.end());
      for (const GroupId holder : holders_) {
        parts_[holder] += static_cast<double>(bytes) / static_cast<double>(holders_.size());
      }
    });
  }
  return parts_;
}

// Returns how long the transfers of what a group produces or reads take, were it moved; with
// from == to, as it is. In the `placeto` model one transfer serves all.
double MemoryEstimate::transfers_us(const Touch& touch, DeviceId from, DeviceId to) const {
  const std::int64_t bytes = problem_.output_bytes(touch.output);
  const DeviceId home = touch.is_producer ? to : device_of(producer_[touch.output]);
  double sum_us = 0;
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    std::int32_t readers = readers_[cell(touch.output, device)];
    readers -= device == from ? touch.num_readers : 0;
    readers += device == to ? touch.num_readers : 0;
    if (device != home && readers > 0) {
      sum_us += problem_.transfer_us(bytes, home, device);
      if (is_placeto_) {
        break;
      }
    }
  }
  return sum_us;
}

double MemoryEstimate::added_transfer_us(GroupId group, DeviceId device) const {
  const DeviceId from = placement_[group];
  double sum_us = 0;
  for (const Touch& touch : touches(group)) {
    sum_us += transfers_us(touch, from, device) - transfers_us(touch, from, from);
  }
  return sum_us;
}

}  // namespace emplace::agents

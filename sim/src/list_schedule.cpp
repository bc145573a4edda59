#include <emplace/graphs/check.hpp>
#include <emplace/sim/list_schedule.hpp>

#include <algorithm>
#include <utility>

namespace emplace {
ListSchedule::ListSchedule(const Problem& problem, IdleSlots idle_slots)
    : problem_(problem),
      idle_slots_(idle_slots),
      num_devices_(static_cast<std::size_t>(problem.num_devices())),
      placement_(problem.num_groups()),
      rank_(problem.num_groups()),
      waiting_for_(problem.num_groups()),
      awaited_by_(problem.num_groups()),
      ready_us_(rank_.size() * num_devices_, 0.0),
      start_us_(problem.num_groups(), 0.0),
      finish_us_(problem.num_groups(), 0.0),
      intervals_(num_devices_) {
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    free_bytes_.push_back(problem.memory_bytes(device));
  }
  for (const GroupId group : problem.group_order()) {
    rank_[group] = static_cast<std::int32_t>(&group - problem.group_order().data());
    waiting_for_[group] = problem.group_in_edges(group).size();
    awaited_by_[group] = problem.group_out_edges(group).size();
    if (waiting_for_[group] == 0) {
      ready_groups_.push_back(group);
    }
  }
}

double ListSchedule::start_if(GroupId group, DeviceId device) const {
  const std::vector<Interval>& busy = intervals_[device];
  const double ready = ready_us(group, device);
  if (idle_slots_ == IdleSlots::kLeave) {
    return busy.empty() ? ready : std::max(ready, busy.back().finish_us);
  }
  const double cost = problem_.group_cost_us(group, device);
  // Intervals that end before the group is ready cannot delay it.
  auto next = std::partition_point(busy.begin(), busy.end(), [ready](const Interval& interval) {
    return interval.finish_us <= ready;
  });
  double start = ready;
  for (; next != busy.end() && start + cost > next->start_us; ++next) {
    start = std::max(start, next->finish_us);
  }
  return start;
}

void ListSchedule::assign(GroupId group, DeviceId device) {
  const auto ready = std::find(ready_groups_.begin(), ready_groups_.end(), group);
  EMPLACE_CHECK(ready != ready_groups_.end(), "group {} is assigned before its producers, or twice",
                group);
  ready_groups_.erase(ready);

  const double start = start_if(group, device);
  const double finish = start + problem_.group_cost_us(group, device);
  start_us_[group] = start;
  finish_us_[group] = finish;
  placement_[group] = device;
  ++num_assigned_;
  std::vector<Interval>& busy = intervals_[device];
  busy.insert(std::partition_point(
                  busy.begin(), busy.end(),
                  [finish](const Interval& interval) { return interval.finish_us <= finish; }),
              {start, finish});

  free_bytes_[device] -= needed_bytes(group);
  if (awaited_by_[group] == 0) {
    free_bytes_[device] += problem_.group_output_bytes(group);
  }
  for (const GroupEdge& edge : problem_.group_in_edges(group)) {
    release_outputs(edge.producer);
  }
  for (const GroupEdge& edge : problem_.group_out_edges(group)) {
    announce(edge, device, finish);
  }
}

// Notes for the consumer of `edge` when the producer's data can be where.
void ListSchedule::announce(const GroupEdge& edge, DeviceId device, double finish_us) {
  for (DeviceId to = 0; to < problem_.num_devices(); ++to) {
    double& ready = ready_us_[cell(edge.consumer, to)];
    ready = std::max(ready, finish_us + problem_.transfer_us(edge.bytes, device, to));
  }
  if (--waiting_for_[edge.consumer] == 0) {
    make_ready(edge.consumer);
  }
}

void ListSchedule::make_ready(GroupId group) {
  const auto by_rank = [this](GroupId a, GroupId b) { return rank_[a] < rank_[b]; };
  ready_groups_.insert(std::upper_bound(ready_groups_.begin(), ready_groups_.end(), group, by_rank),
                       group);
}

void ListSchedule::release_outputs(GroupId producer) {
  if (--awaited_by_[producer] == 0) {
    free_bytes_[placement_[producer]] += problem_.group_output_bytes(producer);
  }
}

Placement ListSchedule::take() && {
  EMPLACE_CHECK(num_assigned_ == problem_.num_groups(), "{} of {} groups are assigned",
                num_assigned_, problem_.num_groups());
  return std::move(placement_);
}

}  // namespace emplace

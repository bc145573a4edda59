#include <emplace/agents/list_schedule.hpp>
#include <emplace/base/check.hpp>

#include <algorithm>
#include <utility>

namespace emplace::agents {
ListSchedule::ListSchedule(const Problem& problem, IdleSlots idle_slots)
    : problem_(problem),
      idle_slots_(idle_slots),
      num_devices_(static_cast<std::size_t>(problem.num_devices())),
      placement_(problem.num_groups()),
      rank_(problem.num_groups()),
      is_assigned_(problem.num_groups(), 0),
      waiting_for_(problem.num_groups()),
      awaited_by_(problem.num_groups()),
      ready_us_(rank_.size() * num_devices_, 0.0),
      start_us_(problem.num_groups(), 0.0),
      finish_us_(problem.num_groups(), 0.0),
      busy_times_(num_devices_) {
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    free_bytes_.push_back(problem.memory_bytes(device));
  }
  for (std::int32_t rank = 0; const GroupId group : problem.group_order()) {
    rank_[group] = rank++;
    waiting_for_[group] = problem.group_in_edges(group).size();
    awaited_by_[group] = problem.group_out_edges(group).size();
    if (waiting_for_[group] == 0) {
      newly_ready_.push_back(group);
    }
  }
}

std::span<const GroupId> ListSchedule::ready_groups() const {
  if (is_out_of_date_) {
    const auto by_rank = [this](GroupId group) { return rank_[group]; };
    std::erase_if(ready_groups_, [this](GroupId group) { return is_assigned_[group] != 0; });
    std::erase_if(newly_ready_, [this](GroupId group) { return is_assigned_[group] != 0; });
    std::ranges::sort(newly_ready_, {}, by_rank);
    const auto middle = static_cast<std::ptrdiff_t>(ready_groups_.size());
    ready_groups_.insert(ready_groups_.end(), newly_ready_.begin(), newly_ready_.end());
    std::ranges::inplace_merge(ready_groups_, ready_groups_.begin() + middle, {}, by_rank);
    newly_ready_.clear();
    is_out_of_date_ = false;
  }
  return ready_groups_;
}

std::span<const DeviceId> ListSchedule::devices_for(GroupId group) const {
  for (const GroupId other : problem_.constraints().tied_to(group)) {
    if (is_assigned_[other] != 0) {
      return placement_.devices().subspan(index_of(other), 1);
    }
  }
  return problem_.devices_for(group);
}

double ListSchedule::start_if(GroupId group, DeviceId device) const {
  const BusyTimes& busy = busy_times_[device];
  const double ready = ready_us(group, device);
  return idle_slots_ == IdleSlots::kLeave
             ? std::max(ready, busy.last_finish_us())
             : busy.start_of_idle(ready, problem_.group_cost_us(group, device));
}

void ListSchedule::assign(GroupId group, DeviceId device, double not_before_us) {
  EMPLACE_CHECK(not_before_us == 0 || idle_slots_ == IdleSlots::kLeave,
                "a group that waits may not fit into its idle slot");
  EMPLACE_CHECK(is_ready(group), "group {} is assigned before its producers, or twice", group);
  is_assigned_[group] = 1;
  is_out_of_date_ = true;

  const double start = std::max(start_if(group, device), not_before_us);
  const double finish = start + problem_.group_cost_us(group, device);
  start_us_[group] = start;
  finish_us_[group] = finish;
  placement_[group] = device;
  ++num_assigned_;
  busy_times_[device].add(start, finish);

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
    newly_ready_.push_back(edge.consumer);
  }
}

void ListSchedule::release_outputs(GroupId producer) {
  if (--awaited_by_[producer] == 0) {
    free_bytes_[placement_[producer]] += problem_.group_output_bytes(producer);
  }
}

void ListSchedule::check_complete() const {
  EMPLACE_CHECK(num_assigned_ == problem_.num_groups(), "{} of {} groups are assigned",
                num_assigned_, problem_.num_groups());
}

Placement ListSchedule::take() && {
  check_complete();
  return std::move(placement_);
}

IdVector<GroupId, Priority> ListSchedule::priorities() const {
  check_complete();
  std::vector<GroupId> order(problem_.group_order().begin(), problem_.group_order().end());
  std::ranges::stable_sort(order, {}, [this](GroupId group) { return start_us_[group]; });
  IdVector<GroupId, Priority> priorities(problem_.num_groups());
  for (Priority next = problem_.num_groups(); const GroupId group : order) {
    priorities[group] = --next;
  }
  return priorities;
}

}  // namespace emplace::agents

#pragma once

// What list schedulers share. A scheduler assigns all groups to an empty schedule, one by one.
// Where the step then does not fit into memory, it does so again, told which devices are too full
// for a group (memory_fit.hpp).

#include "heuristics.hpp"
#include "memory_fit.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/budget.hpp>
#include <emplace/agents/list_schedule.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents {

/// A schedule that may look at memory, and at whether anybody still waits for it.
class MemorySchedule : public ListSchedule {
 public:
  /// Starts an empty schedule, which looks at memory if there is a reserve.
  MemorySchedule(const Problem& problem, IdleSlots idle_slots, const MemoryReserve* reserve,
                 const Budget* budget = nullptr)
      : ListSchedule(problem, idle_slots), looks_at_memory_(reserve != nullptr), budget_(budget) {
    if (looks_at_memory_) {
      this->reserve(*reserve);
    }
  }

  /// Says whether the schedule looks at memory and `device` has no room for `group`. Schedulers
  /// prefer devices for which this is false.
  bool looks_at_memory() const { return looks_at_memory_; }
  bool is_too_full(GroupId group, DeviceId device) const {
    return looks_at_memory_ && !fits(group, device);
  }

  /// Says whether the budget, if there is one, was stopped.
  bool is_stopped() const { return budget_ != nullptr && budget_->stopped(); }

  /// Says whether groups are left to assign, and the budget was not stopped. O(ready groups)
  /// after an assign().
  bool goes_on() const { return !ready_groups().empty() && !is_stopped(); }

 private:
  bool looks_at_memory_;
  const Budget* budget_;
};

/// Says from when on a scheduler looks at memory.
enum class MemoryRule : std::uint8_t {
  kWhereNeeded,  ///< where the step does not fit otherwise: published without memory
  kAlways,       ///< published with memory
};

/// Assigns all groups to an empty schedule, as long as MemorySchedule::goes_on().
using AssignAll = std::function<void(MemorySchedule&)>;

/// Places by the schedule that `assign_all` makes; where that does not fit, by one that does if it
/// can be found (fit_into_memory()). Where the budget is stopped, all groups are on one device.
Placement place_by_schedule(const Problem& problem, Budget& budget, StepOrder order,
                            IdleSlots idle_slots, MemoryRule memory_rule,
                            const AssignAll& assign_all);

/// Registers a list scheduler as a heuristic with the parameter `order`, a StepOrder.
AgentRegistration list_scheduler(AgentInfo info, ListScheduler* scheduler);

/// Returns the device with the least `key(device)`, the first among equals.
template <class Key>
DeviceId least_device(std::span<const DeviceId> devices, Key key) {
  return *std::ranges::min_element(devices, {}, key);
}

/// Returns the device on which `group` ends first, of those that are not too full.
inline DeviceId earliest_finish(const MemorySchedule& schedule, GroupId group) {
  return least_device(schedule.devices_for(group), [&](DeviceId device) {
    return std::pair(schedule.is_too_full(group, device), schedule.finish_if(group, device));
  });
}

/// Assigns groups in this order, each to the device with the least `key(group, device)` of those
/// that are not too full.
template <class Key>
void assign_in_order(MemorySchedule& schedule, const std::vector<GroupId>& order, Key key) {
  for (const GroupId group : order) {
    if (schedule.is_stopped()) {
      return;
    }
    schedule.assign(group, least_device(schedule.devices_for(group), [&](DeviceId device) {
                      return std::pair(schedule.is_too_full(group, device), key(group, device));
                    }));
  }
}

/// Names a group and the device to which it may go.
using GroupOnDevice = std::pair<GroupId, DeviceId>;

/// Returns the pair of a ready group and one of its devices with the least `key(group, device)`.
/// Ties go to the first group in topological order, then to the cheaper device, then to the first.
/// Requires: a group is ready. O(ready groups * devices).
template <class Key>
GroupOnDevice least_ready_pair(const Problem& problem, const ListSchedule& schedule, Key key) {
  GroupOnDevice best;
  decltype(key(GroupId{}, DeviceId{})) best_key{};
  for (const GroupId group : schedule.ready_groups()) {
    const DeviceId device = least_device(schedule.devices_for(group), [&](DeviceId candidate) {
      return std::pair(key(group, candidate), problem.group_cost_us(group, candidate));
    });
    const auto least_key = key(group, device);
    if (group == schedule.ready_groups().front() || least_key < best_key) {
      best = {group, device};
      best_key = least_key;
    }
  }
  return best;
}

/// Assigns all groups, the pair with the least `key(group, device)` after the other; pairs of a
/// device that is not too full come first.
template <class Key>
void assign_least_pairs(const Problem& problem, MemorySchedule& schedule, Key key) {
  while (schedule.goes_on()) {
    const auto [group, device] =
        least_ready_pair(problem, schedule, [&](GroupId ready, DeviceId candidate) {
          return std::pair(schedule.is_too_full(ready, candidate), key(ready, candidate));
        });
    schedule.assign(group, device);
  }
}

/// Returns where Baechi's schedulers would give up, because no ready group fits on any device: the
/// first ready group, and the device with the most memory left.
inline GroupOnDevice least_overflow(const ListSchedule& schedule) {
  const GroupId group = schedule.ready_groups().front();
  return {group, least_device(schedule.devices_for(group),
                              [&](DeviceId device) { return -schedule.free_bytes(device); })};
}

}  // namespace emplace::agents

#include "clp/favourite_children.hpp"
#include "heuristic/list_scheduling.hpp"

#include <emplace/base/id_vector.hpp>

#include <algorithm>
#include <limits>
#include <tuple>

namespace emplace::agents {
namespace {

// Schedules as m-ETF does, and lets a device wait for the favourite child of the group that it ran
// last. The device is awake for that child from when all its producers have ended, while it is not
// assigned and no other device could start it earlier. An awake device runs nothing but the child
// and urgent groups, which could start at once on every device. With groups instead of a clock: a
// group that may not start on an awake device yet is taken to start when it becomes urgent.
class SctSchedule {
 public:
  SctSchedule(const Problem& problem, const FavouriteChildren& favourites, MemorySchedule& schedule)
      : problem_(problem),
        favourites_(favourites),
        schedule_(schedule),
        is_assigned_(problem.num_groups(), false),
        last_(problem.num_devices(), kNoGroup),
        awaited_(problem.num_devices()) {}

  void assign_all() {
    while (schedule_.goes_on()) {
      for (const DeviceId device : problem_.placeable_devices()) {
        awaited_[device] = find_awaited(device);
      }
      auto [group, device] =
          least_ready_pair(problem_, schedule_, [this](GroupId ready, DeviceId candidate) {
            return std::tuple(schedule_.is_too_full(ready, candidate), start_us(ready, candidate),
                              ready == awaited_[candidate].child);
          });
      double not_before_us = start_us(group, device);
      if (schedule_.is_too_full(group, device)) {
        std::tie(group, device) = least_overflow(schedule_);
        not_before_us = 0;
      }
      schedule_.assign(group, device, not_before_us);
      is_assigned_[group] = true;
      last_[device] = group;
    }
  }

 private:
  // The child for which a device is awake, and from when on.
  struct Awaited {
    GroupId child = kNoGroup;
    double from_us = std::numeric_limits<double>::infinity();
  };

  Awaited find_awaited(DeviceId device) const {
    const GroupId child = last_[device] == kNoGroup ? kNoGroup : favourites_.child[last_[device]];
    if (child == kNoGroup || is_assigned_[child] || schedule_.is_too_full(child, device)) {
      return {};
    }
    double from_us = 0;
    for (const GroupEdge& edge : problem_.group_in_edges(child)) {
      if (!is_assigned_[edge.producer]) {
        return {};
      }
      from_us = std::max(from_us, schedule_.finish_us(edge.producer));
    }
    const double start_us = schedule_.start_if(child, device);
    const bool is_first = std::ranges::all_of(problem_.placeable_devices(), [&](DeviceId other) {
      return start_us <= schedule_.start_if(child, other);
    });
    return is_first ? Awaited{child, from_us} : Awaited{};
  }

  // Returns when `group` may start on `device`.
  double start_us(GroupId group, DeviceId device) const {
    const double start_us = schedule_.start_if(group, device);
    const Awaited& awaited = awaited_[device];
    if (group == awaited.child || start_us < awaited.from_us) {
      return start_us;
    }
    double urgent_us = start_us;
    for (const DeviceId other : problem_.placeable_devices()) {
      urgent_us = std::max(urgent_us, schedule_.start_if(group, other));
    }
    return urgent_us;
  }

  const Problem& problem_;
  const FavouriteChildren& favourites_;
  MemorySchedule& schedule_;
  IdVector<GroupId, bool> is_assigned_;
  IdVector<DeviceId, GroupId> last_;  // group that each device runs last
  IdVector<DeviceId, Awaited> awaited_;
};

// Baechi's m-SCT: the small communication times schedule of Hanen and Munier with the memory rule
// of m-ETF, adapted to groups in the same way.
Placement m_sct(const Problem& problem, Budget& budget, StepOrder order) {
  const FavouriteChildren favourites =
      favourite_children(problem, [&budget] { return budget.stopped(); });
  return place_by_schedule(
      problem, budget, order, IdleSlots::kLeave, MemoryRule::kAlways,
      [&](MemorySchedule& schedule) { SctSchedule(problem, favourites, schedule).assign_all(); });
}

const AgentRegistration kMSct = list_scheduler(
    {.name = "m-sct",
     .summary = "m-etf that keeps favourite children on the device of their producer, by "
                "linear programming",
     .description = "Small communication times with the memory rule of Baechi: a linear "
                    "program, solved by COIN-OR Clp, finds for each group the consumer that "
                    "should follow it on the same device, and a scheduler like m-etf lets "
                    "the device wait for it. The linear program takes up to seconds for "
                    "networks, but minutes for thousands of random tasks. Where nothing "
                    "fits, it uses the device with the most memory left, and repairs the "
                    "placement.",
     .reference = "Baechi: Jeon et al., SoCC 2020; Hanen, Munier 1995"},
    m_sct);

}  // namespace
}  // namespace emplace::agents

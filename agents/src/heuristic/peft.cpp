#include "heuristics.hpp"
#include "list_scheduling.hpp"
#include "ranks.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// Returns OCT.
IdVector<DeviceId, GroupTimes> optimistic_costs_us(const Problem& problem) {
  IdVector<DeviceId, GroupTimes> optimistic(problem.num_devices(),
                                            GroupTimes(problem.num_groups(), 0.0));
  // On the device of a group, and on the best device: the group and what comes after it.
  const auto on = [&](GroupId group, DeviceId device) {
    return optimistic[device][group] + problem.group_cost_us(group, device);
  };
  GroupTimes on_best(problem.num_groups(), std::numeric_limits<double>::infinity());
  const std::span<const GroupId> order = problem.group_order();
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    for (const DeviceId device : problem.placeable_devices()) {
      for (const GroupEdge& edge : problem.group_out_edges(*group)) {
        const double elsewhere = on_best[edge.consumer] + problem.mean_transfer_us(edge.bytes);
        optimistic[device][*group] =
            std::max(optimistic[device][*group], std::min(on(edge.consumer, device), elsewhere));
      }
      on_best[*group] = std::min(on_best[*group], on(*group, device));
    }
  }
  return optimistic;
}

}  // namespace

// Predict earliest finish time: as HEFT, but a group goes where its finish plus the rest of the
// step that this device lets hope for is least. The rest is the optimistic cost, for which devices
// are always free:
//     OCT(g, d) = max over consumers s of min over devices e of
//                 (OCT(s, e) + cost(s, e) + (e == d ? 0 : c(g, s))),
// with the mean transfer time c. Groups are ranked by the mean of OCT(g, d) over devices; as that
// may rise along an edge, the next group is the highest of those that are ready. Where the step
// then does not fit, devices with room for the group come first. As c is not negative, the inner
// minimum is one of e == d and of all e with a transfer, so the table takes O(edges * devices).
Placement peft(const Problem& problem, Budget& budget, StepOrder order) {
  IdVector<DeviceId, GroupTimes> optimistic_us = optimistic_costs_us(problem);
  GroupTimes rank_us(problem.num_groups(), 0.0);
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (const DeviceId device : problem.placeable_devices()) {
      rank_us[group] += optimistic_us[device][group];
    }
  }
  const std::vector<GroupId> by_priority = order_by_priority(problem, rank_us);
  return place_by_schedule(
      problem, budget, order, IdleSlots::kFill, MemoryRule::kWhereNeeded,
      [&](MemorySchedule& schedule) {
        assign_in_order(schedule, by_priority, [&](GroupId group, DeviceId device) {
          return schedule.finish_if(group, device) + optimistic_us[device][group];
        });
      });
}

namespace {

const AgentRegistration kPeft = list_scheduler(
    {.name = "peft",
     .summary = "list scheduling that looks ahead: earliest finish plus optimistic rest",
     .description = "Predict earliest finish time: ranks groups and devices by the shortest "
                    "time that the rest of the step can take if devices are always free, and "
                    "puts each group where its finish plus that rest is least. As fast as "
                    "heft, and it looks ahead where devices differ. Where the placement does "
                    "not fit into memory, devices with room come first, and the placement "
                    "is repaired.",
     .reference = "Arabnejad, Barbosa, IEEE TPDS 25(3), 2014"},
    peft);

}  // namespace
}  // namespace emplace::agents

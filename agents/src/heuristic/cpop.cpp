#include "heuristics.hpp"
#include "list_scheduling.hpp"
#include "ranks.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// Returns the groups of a longest path from the start of the step to its end.
std::vector<GroupId> critical_path(const Problem& problem, const GroupTimes& to_end_us) {
  std::vector<GroupId> path{*std::ranges::max_element(
      problem.group_order(), {}, [&](GroupId group) { return to_end_us[group]; })};
  for (std::span edges = problem.group_out_edges(path.back()); !edges.empty();
       edges = problem.group_out_edges(path.back())) {
    path.push_back(std::ranges::max_element(edges, {}, [&](const GroupEdge& edge) {
                     return problem.mean_transfer_us(edge.bytes) + to_end_us[edge.consumer];
                   })->consumer);
  }
  return path;
}

}  // namespace

// Critical path on a processor: the priority of a group is the length of the longest path through
// it, upward plus downward rank, with mean costs and transfer times. The groups of a critical path
// all go to the device that runs them in the least time, and the others where they end first, also
// into an idle slot. A critical path is followed edge by edge from the group where it begins, so
// that no sums of ranks are compared. Where the step then does not fit, devices with room for the
// group come first, for the critical path too.
// O(edges * devices + groups * devices * log(groups)), idle slots aside (busy_times.hpp).
Placement cpop(const Problem& problem, Budget& budget, StepOrder order) {
  const GroupTimes costs_us = mean_costs_us(problem);
  const GroupTimes to_end_us = times_to_end_us(problem, costs_us, Transfers::kMean);
  const GroupTimes from_start_us = times_from_start_us(problem, costs_us, Transfers::kMean);
  GroupTimes through_us(problem.num_groups());
  std::ranges::transform(to_end_us, from_start_us, through_us.begin(), std::plus<>());

  const std::vector<GroupId> path = critical_path(problem, to_end_us);
  const DeviceId path_device = least_device(problem.placeable_devices(), [&](DeviceId device) {
    double sum_us = 0;
    for (const GroupId group : path) {
      sum_us += problem.group_cost_us(group, device);
    }
    return sum_us;
  });
  IdVector<GroupId, bool> is_on_path(problem.num_groups(), false);
  for (const GroupId group : path) {
    is_on_path[group] = true;
  }
  const std::vector<GroupId> by_priority = order_by_priority(problem, through_us);
  return place_by_schedule(problem, budget, order, IdleSlots::kFill, MemoryRule::kWhereNeeded,
                           [&](MemorySchedule& schedule) {
                             assign_in_order(
                                 schedule, by_priority, [&](GroupId group, DeviceId device) {
                                   return std::pair(is_on_path[group] && device != path_device,
                                                    schedule.finish_if(group, device));
                                 });
                           });
}

namespace {

const AgentRegistration kCpop = list_scheduler(
    {.name = "cpop",
     .summary = "list scheduling with the critical path on one device",
     .description = "Critical path on a processor: puts the longest path of the step, "
                    "transfers included, on the device that runs it fastest, and all other "
                    "groups where they finish first, in the order of the longest paths "
                    "through them. It suits graphs in which one path dominates; elsewhere "
                    "heft does better. Where the placement does not fit into memory, "
                    "devices with room come first, and the placement is repaired.",
     .reference = "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002"},
    cpop);

}  // namespace
}  // namespace emplace::agents

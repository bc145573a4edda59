#include "heuristics.hpp"
#include "list_scheduling.hpp"
#include "ranks.hpp"

namespace emplace::agents {

// Schedules groups by decreasing upward rank, each on the device where it ends first, also into an
// idle slot. Where the step then does not fit, devices with room for the group come first.
// O(edges * devices + groups * devices * log(groups)), idle slots aside (busy_times.hpp).
Placement heft(const Problem& problem, Budget& budget, StepOrder order) {
  const std::vector<GroupId> by_priority = order_by_priority(
      problem, times_to_end_us(problem, mean_costs_us(problem), Transfers::kMean));
  return place_by_schedule(problem, budget, order, IdleSlots::kFill, MemoryRule::kWhereNeeded,
                           [&](MemorySchedule& schedule) {
                             assign_in_order(schedule, by_priority,
                                             [&](GroupId group, DeviceId device) {
                                               return schedule.finish_if(group, device);
                                             });
                           });
}

namespace {

const AgentRegistration kHeft =
    list_scheduler({.name = "heft",
                    .summary = "list scheduling by upward rank, each group where it finishes "
                               "first",
                    .description = "Heterogeneous earliest finish time: ranks groups by their "
                                   "longest path to the end of the step, transfers included, and "
                                   "puts each on the device where it finishes first, also into "
                                   "idle slots between groups that are scheduled already. The "
                                   "usual first choice among heuristics; hill-climb can start "
                                   "from its result. Where that does not fit into memory, it "
                                   "prefers devices with room, and repairs the placement.",
                    .reference = "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002"},
                   heft);

}  // namespace
}  // namespace emplace::agents

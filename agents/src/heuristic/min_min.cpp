#include "heuristics.hpp"
#include "list_scheduling.hpp"

namespace emplace::agents {

// Repeatedly takes, of all ready groups and devices, the pair that ends first: the group whose
// earliest finish is the least. Ibarra and Kim schedule independent tasks; here the tasks are the
// ready groups, whose data may have to come first. Where the step then does not fit, pairs of a
// device with room for the group come first. O(groups * ready groups * devices).
Placement min_min(const Problem& problem, Budget& budget, StepOrder order) {
  return place_by_schedule(problem, budget, order, IdleSlots::kLeave, MemoryRule::kWhereNeeded,
                           [&](MemorySchedule& schedule) {
                             assign_least_pairs(problem, schedule,
                                                [&](GroupId group, DeviceId device) {
                                                  return schedule.finish_if(group, device);
                                                });
                           });
}

namespace {

const AgentRegistration kMinMin = list_scheduler(
    {.name = "min-min",
     .summary = "list scheduling: the ready group and device that end first",
     .description = "Repeatedly takes, of all ready groups and devices, the pair that ends first: "
                    "short groups go first, each where it ends soonest. It ignores what comes "
                    "after a group; heft does not. Where the placement does not fit into memory, "
                    "devices with room come first, and the placement is repaired.",
     .reference = "Ibarra, Kim, J. ACM 24(2), 1977; Braun et al., J. Parallel Distrib. "
                  "Comput. 61(6), 2001"},
    min_min);

}  // namespace
}  // namespace emplace::agents

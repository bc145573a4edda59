#include "heuristics.hpp"
#include "list_scheduling.hpp"

namespace emplace::agents {
namespace {

GroupOnDevice latest_of_earliest(const MemorySchedule& schedule) {
  GroupOnDevice latest;
  double latest_us = -1;
  for (const GroupId group : schedule.ready_groups()) {
    const DeviceId device = earliest_finish(schedule, group);
    const double finish_us = schedule.finish_if(group, device);
    if (finish_us > latest_us) {
      latest = {group, device};
      latest_us = finish_us;
    }
  }
  return latest;
}

}  // namespace

// Repeatedly takes the ready group whose earliest finish is the latest, and puts it on the device
// of that finish: long groups go first, so that short ones fill up at the end. Ties go to
// topological order. Else as min-min. O(groups * ready groups * devices).
Placement max_min(const Problem& problem, Budget& budget, StepOrder order) {
  return place_by_schedule(problem, budget, order, IdleSlots::kLeave, MemoryRule::kWhereNeeded,
                           [&](MemorySchedule& schedule) {
                             while (schedule.goes_on()) {
                               const auto [group, device] = latest_of_earliest(schedule);
                               schedule.assign(group, device);
                             }
                           });
}

namespace {

const AgentRegistration kMaxMin = list_scheduler(
    {.name = "max-min",
     .summary = "list scheduling: the ready group that ends last where it "
                "ends first",
     .description =
         "Repeatedly takes the ready group whose earliest finish is the latest, and puts "
         "it on that device: long groups go first, short ones fill up at the end. It "
         "ignores what comes after a group; heft does not. Where the placement does not "
         "fit into memory, devices with room come first, and the placement is repaired.",
     .reference = "Ibarra, Kim, J. ACM 24(2), 1977; Braun et al., J. Parallel Distrib. "
                  "Comput. 61(6), 2001"},
    max_min);

}  // namespace
}  // namespace emplace::agents

#include "heuristics.hpp"
#include "list_scheduling.hpp"
#include "ranks.hpp"

#include <utility>

namespace emplace::agents {

// Dynamic level scheduling: repeatedly takes, of all ready groups and devices, the pair with the
// highest dynamic level
//     DL(g, d) = SL(g) - start(g, d) + (E(g) - cost(g, d)),
// where E(g) is the median cost over devices and SL(g) the longest path of median costs to the end
// of the step, without transfers. This is DL1 of Sih and Lee; their corrections for the descendants
// and for scarce resources are left out, as in most later comparisons. Where the step then does not
// fit, pairs of a device with room for the group come first. O(groups * ready groups * devices).
Placement dls(const Problem& problem, Budget& budget, StepOrder order) {
  GroupTimes median_us = median_costs_us(problem);
  GroupTimes level_us = times_to_end_us(problem, median_us, Transfers::kIgnored);
  return place_by_schedule(
      problem, budget, order, IdleSlots::kLeave, MemoryRule::kWhereNeeded,
      [&](MemorySchedule& schedule) {
        assign_least_pairs(problem, schedule, [&](GroupId group, DeviceId device) {
          const double dynamic_level_us =
              level_us[group] + median_us[group] - schedule.finish_if(group, device);
          return -dynamic_level_us;
        });
      });
}

namespace {

const AgentRegistration kDls = list_scheduler(
    {.name = "dls",
     .summary = "list scheduling: the ready group and device of the highest "
                "dynamic level",
     .description =
         "Dynamic level scheduling: repeatedly takes the pair of a ready group and a device for "
         "which the path to the end of the step, less the start of the group there, is the "
         "longest; devices that are fast for the group have an advantage. It is between etf and "
         "heft: it weighs urgency against waiting at each step. Where the placement does not fit "
         "into memory, devices with room come first, and the placement is repaired.",
     .reference = "Sih, Lee, IEEE TPDS 4(2), 1993"},
    dls);

}  // namespace
}  // namespace emplace::agents

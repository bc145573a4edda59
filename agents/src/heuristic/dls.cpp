#include "list_scheduling.hpp"
#include "ranks.hpp"

#include <emplace/agents/agent.hpp>

#include <utility>

namespace emplace::agents {
namespace {

// Dynamic level scheduling: repeatedly takes, of all ready groups and devices, the pair with the
// highest dynamic level
//     DL(g, d) = SL(g) - start(g, d) + (E(g) - cost(g, d)),
// where E(g) is the median cost over devices and SL(g) the longest path of median costs to the end
// of the step, without transfers. This is DL1 of Sih and Lee; their corrections for the descendants
// and for scarce resources are left out, as in most later comparisons. Where the step then does not
// fit, pairs of a device with room for the group come first. O(groups * ready groups * devices).
class Dls final : public Agent {
 public:
  explicit Dls(const Params& params) : order_(order_of(params)) {}

  Placement place(const Problem& problem, Session& session) override {
    const GroupTimes median_us = median_costs_us(problem);
    const GroupTimes level_us = times_to_end_us(problem, median_us, Transfers::kIgnored);
    return place_by_schedule(
        problem, session, IdleSlots::kLeave, MemoryRule::kWhereNeeded, order_,
        [&](MemorySchedule& schedule) {
          while (schedule.goes_on()) {
            const auto [group, device] =
                least_ready_pair(problem, schedule, [&](GroupId ready, DeviceId candidate) {
                  const double dynamic_level_us =
                      level_us[ready] + median_us[ready] - schedule.finish_if(ready, candidate);
                  return std::pair(schedule.is_too_full(ready, candidate), -dynamic_level_us);
                });
            schedule.assign(group, device);
          }
        });
  }

 private:
  StepOrder order_;
};

EMPLACE_REGISTER_AGENT(
    Dls,
    {.name = "dls",
     .kind = AgentKind::kHeuristic,
     .summary = "list scheduling: the ready group and device of the highest "
                "dynamic level",
     .description =
         "Dynamic level scheduling: repeatedly takes the pair of a ready group and a device for "
         "which the path to the end of the step, less the start of the group there, is the "
         "longest; devices that are fast for the group have an advantage. It is between etf and "
         "heft: it weighs urgency against waiting at each step. Where the placement does not fit "
         "into memory, devices with room come first, and the placement is repaired.",
     .reference = "Sih, Lee, IEEE TPDS 4(2), 1993",
     .parameters = {order_parameter()}});

}  // namespace
}  // namespace emplace::agents

#include "list_scheduling.hpp"
#include "ranks.hpp"

#include <emplace/agents/agent.hpp>

#include <tuple>

namespace emplace::agents {
namespace {

// Earliest task first: repeatedly takes, of all ready groups and devices, the pair that can start
// first. Ties go to the group with the highest static level (its cost is that on the fastest
// device), then to topological order, then to the device that ends it sooner (Hwang et al. have
// identical processors), then to the first device. Where the step then does not fit, pairs of a
// device with room for the group come first. O(groups * ready groups * devices).
class Etf final : public Agent {
 public:
  explicit Etf(const Params& params) : order_(order_of(params)) {}

  Placement place(const Problem& problem, Session& session) override {
    const GroupTimes level_us =
        times_to_end_us(problem, least_costs_us(problem), Transfers::kIgnored);
    return place_by_schedule(
        problem, session, IdleSlots::kLeave, MemoryRule::kWhereNeeded, order_,
        [&](MemorySchedule& schedule) {
          while (schedule.goes_on()) {
            const auto [group, device] =
                least_ready_pair(problem, schedule, [&](GroupId ready, DeviceId candidate) {
                  return std::tuple(schedule.is_too_full(ready, candidate),
                                    schedule.start_if(ready, candidate), -level_us[ready]);
                });
            schedule.assign(group, device);
          }
        });
  }

 private:
  StepOrder order_;
};

EMPLACE_REGISTER_AGENT(
    Etf, {.name = "etf",
          .kind = AgentKind::kHeuristic,
          .summary = "list scheduling: the ready group and device that can start "
                     "first",
          .description = "Earliest task first: list scheduling that again and again "
                         "takes the pair of a ready group and a device that can start "
                         "first. Ties go to the group with the longest path to the end "
                         "of the step. It takes milliseconds. Where the placement "
                         "does not fit into memory, devices with room come first, "
                         "and the placement is repaired; m-etf looks at memory "
                         "always.",
          .reference = "Hwang, Chow, Anger, Lee, SIAM J. Comput. 18(2), 1989",
          .parameters = {order_parameter()}});

}  // namespace
}  // namespace emplace::agents

#include "list_scheduling.hpp"

#include <emplace/agents/agent.hpp>

#include <utility>

namespace emplace::agents {
namespace {

// Repeatedly takes, of all ready groups and devices, the pair that ends first: the group whose
// earliest finish is the least. Ibarra and Kim schedule independent tasks; here the tasks are the
// ready groups, whose data may have to come first. Where the step then does not fit, pairs of a
// device with room for the group come first. O(groups * ready groups * devices).
class MinMin final : public Agent {
 public:
  explicit MinMin(const Params& params) : order_(order_of(params)) {}

  Placement place(const Problem& problem, Session& session) override {
    return place_by_schedule(problem, session, IdleSlots::kLeave, MemoryRule::kWhereNeeded, order_,
                             [&](MemorySchedule& schedule) {
                               while (schedule.goes_on()) {
                                 const auto [group, device] = least_ready_pair(
                                     problem, schedule, [&](GroupId ready, DeviceId candidate) {
                                       return std::pair(schedule.is_too_full(ready, candidate),
                                                        schedule.finish_if(ready, candidate));
                                     });
                                 schedule.assign(group, device);
                               }
                             });
  }

 private:
  StepOrder order_;
};

EMPLACE_REGISTER_AGENT(
    MinMin,
    {.name = "min-min",
     .kind = AgentKind::kHeuristic,
     .summary = "list scheduling: the ready group and device that end first",
     .description = "Repeatedly takes, of all ready groups and devices, the pair that ends first: "
                    "short groups go first, each where it ends soonest. It ignores what comes "
                    "after a group; heft does not. Where the placement does not fit into memory, "
                    "devices with room come first, and the placement is repaired.",
     .reference = "Ibarra, Kim, J. ACM 24(2), 1977; Braun et al., J. Parallel Distrib. "
                  "Comput. 61(6), 2001",
     .parameters = {order_parameter()}});

}  // namespace
}  // namespace emplace::agents

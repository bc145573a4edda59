#include "list_scheduling.hpp"
#include "ranks.hpp"

#include <emplace/agents/agent.hpp>

#include <vector>

namespace emplace::agents {
namespace {

// Schedules groups by decreasing upward rank, each on the device where it ends first, also into an
// idle slot. Where the step then does not fit, devices with room for the group come first.
// O(edges * devices + groups * devices * log(groups)), idle slots aside (busy_times.hpp).
class Heft final : public Agent {
 public:
  explicit Heft(const Params& params) : order_(order_of(params)) {}

  Placement place(const Problem& problem, Session& session) override {
    const std::vector<GroupId> order = order_by_priority(
        problem, times_to_end_us(problem, mean_costs_us(problem), Transfers::kMean));
    return place_by_schedule(problem, session, IdleSlots::kFill, MemoryRule::kWhereNeeded, order_,
                             [&](MemorySchedule& schedule) {
                               for (const GroupId group : order) {
                                 if (schedule.is_stopped()) {
                                   return;
                                 }
                                 schedule.assign(group, earliest_finish(problem, schedule, group));
                               }
                             });
  }

 private:
  StepOrder order_;
};

EMPLACE_REGISTER_AGENT(
    Heft, {.name = "heft",
           .kind = AgentKind::kHeuristic,
           .summary = "list scheduling by upward rank, each group where it finishes "
                      "first",
           .description = "Heterogeneous earliest finish time: ranks groups by their "
                          "longest path to the end of the step, transfers included, and "
                          "puts each on the device where it finishes first, also into "
                          "idle slots between groups that are scheduled already. The "
                          "usual first choice among heuristics; hill-climb can start "
                          "from its result. Where that does not fit into memory, it "
                          "prefers devices with room, and repairs the placement.",
           .reference = "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002",
           .parameters = {order_parameter()}});

}  // namespace
}  // namespace emplace::agents

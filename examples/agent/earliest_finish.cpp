#include <emplace/agents/agent.hpp>
#include <emplace/agents/list_schedule.hpp>

#include <utility>

namespace emplace::agents {
namespace {

// Walks the groups in topological order; each goes where it would finish first.
class EarliestFinish final : public Agent {
 public:
  explicit EarliestFinish(const Params&) {}

  Placement place(const Problem& problem, Evaluator&) override {
    ListSchedule schedule(problem);
    for (const GroupId group : problem.group_order()) {
      DeviceId best = problem.placeable_devices().front();
      for (const DeviceId device : problem.placeable_devices()) {
        if (schedule.finish_if(group, device) < schedule.finish_if(group, best)) {
          best = device;
        }
      }
      schedule.assign(group, best);
    }
    return std::move(schedule).take();
  }
};

EMPLACE_REGISTER_AGENT(EarliestFinish, {.name = "earliest-finish",
                                        .kind = AgentKind::kHeuristic,
                                        .summary = "each group where it finishes first",
                                        .reference = "folklore"});

}  // namespace
}  // namespace emplace::agents

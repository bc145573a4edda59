#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

// The i-th group in topological order goes to placeable device i mod N.
class RoundRobin final : public Agent {
 public:
  explicit RoundRobin(const Params&) {}

  Placement place(const Problem& problem, Evaluator&) override {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    Placement placement(problem.num_groups());
    std::size_t next = 0;
    for (const GroupId group : problem.group_order()) {
      placement[group] = devices[next++ % devices.size()];
    }
    return placement;
  }
};

EMPLACE_REGISTER_AGENT(RoundRobin,
                       {.name = "round-robin",
                        .kind = AgentKind::kBaseline,
                        .summary = "group i in topological order on placeable device i mod N",
                        .description = "Deals the groups to the placeable devices in turn, in "
                                       "topological order, whatever they cost and transfer. Use it "
                                       "as a lower end of comparisons: it balances the number of "
                                       "groups and nothing else.",
                        .reference = "folklore; ignores costs, bytes and memory"});

}  // namespace
}  // namespace emplace::agents

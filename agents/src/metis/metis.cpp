#include "partition_graph.hpp"

#include <emplace/agents/agent.hpp>

#include <vector>

namespace emplace::agents {
namespace {

// Partitions the groups in proportion to the devices' speeds, with a small cut in bytes.
class Metis final : public Agent {
 public:
  explicit Metis(const Params&) {}

  Placement place(const Problem& problem, Evaluator&) override {
    const std::vector<std::int32_t> part =
        metis_parts(partition_graph(problem), speed_shares(problem));
    Placement placement(problem.num_groups());
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      const std::int32_t device = part[static_cast<std::size_t>(group)];
      placement[group] = problem.placeable_devices()[device];
    }
    return placement;
  }
};

EMPLACE_REGISTER_AGENT(Metis,
                       {.name = "metis",
                        .kind = AgentKind::kHeuristic,
                        .summary = "balanced parts with a small cut, by METIS",
                        .description = "Divides the graph of groups with METIS into one part for "
                                       "each device, in proportion to the devices' speeds, so that "
                                       "few bytes cross between parts. It balances work and "
                                       "transfers but does not know the order of execution, so its "
                                       "parts may wait for one another.",
                        .reference = "Karypis, Kumar, SIAM J. Sci. Comput. 20(1), 1998"});

}  // namespace
}  // namespace emplace::agents

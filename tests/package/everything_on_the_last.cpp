#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

class EverythingOnTheLast final : public Agent {
 public:
  explicit EverythingOnTheLast(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    return Placement(problem.num_groups(), problem.placeable_devices().back());
  }
};

EMPLACE_REGISTER_AGENT(EverythingOnTheLast, {.name = "everything-on-the-last",
                                             .kind = AgentKind::kBaseline,
                                             .summary = "an agent outside the library",
                                             .reference = "tests/package"});

}  // namespace
}  // namespace emplace::agents

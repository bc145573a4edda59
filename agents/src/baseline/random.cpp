#include "search/starts.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <utility>

namespace emplace::agents {
namespace {

// Placements sampled and evaluated at a time: enough to keep all threads busy.
constexpr std::int64_t kBatch = 256;

// Evaluates as many uniform samples as the budget allows and returns the best.
class Random final : public Agent {
 public:
  explicit Random(const Params&) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    Placement first = random_placement(problem, evaluator.random());
    evaluator.evaluate(first);
    std::vector<Placement> batch;
    while (const std::int64_t left = evaluator.budget().evaluations_left()) {
      batch.clear();
      for (std::int64_t i = std::min(kBatch, left); i > 0; --i) {
        batch.push_back(random_placement(problem, evaluator.random()));
      }
      evaluator.evaluate(batch);
    }
    return evaluator.incumbent().placement().value_or(std::move(first));
  }
};

EMPLACE_REGISTER_AGENT(
    Random, {.name = "random",
             .kind = AgentKind::kBaseline,
             .summary = "best of uniformly random placements",
             .description = "Evaluates uniformly random placements until the budget is "
                            "spent and returns the best. Use it to see what a search or a "
                            "policy adds to mere luck with the same number of "
                            "evaluations.",
             .reference = "Addanki et al. 2019, random policy",
             .deterministic = false});

}  // namespace
}  // namespace emplace::agents

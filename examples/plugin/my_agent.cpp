#include <emplace/agents/plugin.hpp>

#include <cstdint>
#include <utility>

namespace emplace::agents {
namespace {

// Moves one group at a time to a random device and keeps what is better. Put your own idea here.
class MyAgent final : public Agent {
 public:
  explicit MyAgent(const Params& params) : moves_(params.get<std::int64_t>("moves")) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    const auto devices = problem.placeable_devices();
    Placement best(problem.num_groups(), devices.front());
    Evaluation best_evaluation = evaluator.evaluate(best);
    while (!evaluator.budget().exhausted()) {
      Placement next = best;
      for (std::int64_t move = 0; move < moves_; ++move) {
        const auto group = evaluator.random().below(static_cast<std::uint64_t>(next.size()));
        next[static_cast<GroupId>(group)] = devices[evaluator.random().below(devices.size())];
      }
      const Evaluation evaluation = evaluator.evaluate(next);
      if (evaluation.better_than(best_evaluation)) {
        best = std::move(next);
        best_evaluation = evaluation;
      }
    }
    return best;
  }

 private:
  std::int64_t moves_;
};

EMPLACE_PLUGIN_AGENT(MyAgent, {.name = "my-agent",
                               .kind = AgentKind::kSearch,
                               .summary = "one line that says what it does",
                               .description = "A paragraph: what it does, and when to use it.",
                               .reference = "who published it",
                               .parameters = {whole_number("moves", 1, 1, 100,
                                                           "groups that move at a time")},
                               .deterministic = false});

}  // namespace
}  // namespace emplace::agents

#include "annealing.hpp"
#include "multilevel_search.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace::agents {
namespace {

// Share of the budget that explores; the rest anneals the best placement of all.
constexpr double kExploration = 0.5;

// With fewer evaluations for each group a multilevel search explores alone.
constexpr std::int64_t kFewEvaluations = 20;

// A portfolio: a multilevel search, and annealing on the finest level from the best placement of
// heuristics beside it, then annealing from the best placement of all. With time as the budget,
// there is a search for each thread.
class Auto final : public Agent {
 public:
  explicit Auto(const Params&) {}

  Placement place(const Problem& problem, Session& session) override {
    const std::vector<Evaluated> starts = evaluated_starts(problem, session);
    const auto best = [&] { return session.best_placement().value_or(starts.front().placement); };
    if (problem.placeable_devices().size() == 1) {
      return best();
    }
    if (const double used = session.share_used(); used < kExploration) {
      const bool has_few =
          session.evaluations_left() < kFewEvaluations * std::int64_t{problem.num_groups()};
      session.run_in_parallel(has_few ? 1 : std::max<std::size_t>(2, session.concurrency()),
                              (kExploration - used) / (1 - used),
                              [&, start = best()](std::size_t index, Session& child) {
                                if (index % 2 == 0) {
                                  search_levels(child, heuristic_start(kHeuristic));
                                } else {
                                  anneal(child, start, 1);
                                }
                              });
    }
    session.run_in_parallel(
        session.concurrency(), 1,
        [start = best()](std::size_t, Session& child) { anneal(child, start, 1); });
    return best();
  }

 private:
  static constexpr const char* kHeuristic = "heft";
};

EMPLACE_REGISTER_AGENT(
    Auto,
    {.name = "auto",
     .kind = AgentKind::kSearch,
     .summary = "the best of heuristics, annealing and multilevel search",
     .description = "A portfolio: asks the heuristics, explores by multilevel search and, where "
                    "the budget is large, by annealing, and then anneals the best placement. "
                    "With a time limit it searches on all threads. Use it unless you compare "
                    "agents; it is the default of emplace place.",
     .reference = "algorithm portfolios: Huberman, Lukose, Hogg, Science 275, 1997",
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents

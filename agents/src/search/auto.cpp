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

// Evaluations for each group with which one annealing ends about as low as it can. With fewer there
// are none to spare for a second search.
constexpr std::int64_t kFewEvaluations = 20;

// Share of the budget for searches of both kinds; the rest improves what the best one found.
constexpr double kExploration = 0.5;

// A portfolio: annealing on the finest level from the best placement of heuristics, and a
// multilevel search beside it. Then annealing again, from the best placement of both. With time as
// the budget, there is a search for each thread.
class Auto final : public Agent {
 public:
  explicit Auto(const Params&) {}

  Placement place(const Problem& problem, Session& session) override {
    const std::vector<Evaluated> starts = evaluated_starts(problem, session);
    const auto best = [&] { return session.best_placement().value_or(starts.front().placement); };
    if (problem.placeable_devices().size() == 1) {
      return best();
    }
    if (session.evaluations_left() < kFewEvaluations * std::int64_t{problem.num_groups()}) {
      anneal(session, best(), 1);
      return best();
    }
    const double used = session.share_used();
    if (used < kExploration) {
      session.run_in_parallel(
          std::max<std::size_t>(2, session.concurrency()), (kExploration - used) / (1 - used),
          [&, start = best()](std::size_t index, Session& child) {
            if (index % 2 == 0) {
              anneal(child, start, 1);
            } else {
              search_levels(child, problem.coarsening(), 1, heuristic_start(kHeuristic));
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
     .description = "A portfolio: asks the heuristics and anneals the best of their "
                    "placements. Where the budget is large, it spends half of it on annealing "
                    "and on a multilevel search, and the rest on annealing the better result. "
                    "With a time limit it searches on all threads. Use it unless you compare "
                    "agents; emplace place does.",
     .reference = "algorithm portfolios: Huberman, Lukose, Hogg, Science 275, 1997",
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents

#include "annealing.hpp"
#include "multilevel_search.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace emplace::agents {
namespace {

// Shares of the budget after which rounds end: trials of the best starts, since the fastest start
// is not always the one that improves fastest; annealing on the finest level; then two multilevel
// searches around the best placement, or one where there are few evaluations for each group.
constexpr std::size_t kTrials = 3;
constexpr double kTrying = 0.1;
constexpr double kAnnealing = 0.4;
constexpr double kFirstCycle = 0.75;
constexpr std::int64_t kFewEvaluations = 10;

// A portfolio: the best placements of heuristics, annealed on the finest level, then on several
// levels around the best placement. With time as the budget, each round but the trials runs one
// search for each thread, and the next round starts from the best of all.
class Auto final : public Agent {
 public:
  explicit Auto(const Params&) {}

  Placement place(const Problem& problem, Session& session) override {
    std::vector<Evaluated> starts = evaluated_starts(problem, session);
    const auto best = [&] { return session.best_placement().value_or(starts.front().placement); };
    if (problem.placeable_devices().size() == 1) {
      return best();
    }
    run_round(
        session, kTrying, std::min(kTrials, starts.size()),
        [&](std::size_t index, Session& child) { anneal(child, starts[index].placement, 1); });
    run_round(session, kAnnealing, session.concurrency(),
              [start = best()](std::size_t, Session& child) { anneal(child, start, 1); });
    const bool has_few =
        session.evaluations_left() < kFewEvaluations * std::int64_t{problem.num_groups()};
    for (const double until_share : {has_few ? 1.0 : kFirstCycle, 1.0}) {
      run_round(
          session, until_share, session.concurrency(),
          [start = best()](std::size_t, Session& child) { search_levels_around(child, start, 1); });
    }
    return best();
  }

 private:
  static void run_round(Session& session, double until_share, std::size_t count,
                        const std::function<void(std::size_t, Session&)>& search) {
    const double used = session.share_used();
    if (used < until_share) {
      session.run_in_parallel(count, (until_share - used) / (1 - used), search);
    }
  }
};

EMPLACE_REGISTER_AGENT(
    Auto, {.name = "auto",
           .kind = AgentKind::kSearch,
           .summary = "the best of the heuristics, annealed on fine and coarse levels",
           .description = "A portfolio: asks the heuristics, anneals the best of their placements "
                          "on the finest level, then searches on several levels around the best "
                          "placement. With a time limit it searches on all threads. Use it unless "
                          "you compare agents; emplace place does.",
           .reference = "iterated multilevel search: Walshaw, Annals of Operations Research 131, "
                        "2004",
           .deterministic = false});

}  // namespace
}  // namespace emplace::agents

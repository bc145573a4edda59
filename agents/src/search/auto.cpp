#include "annealing.hpp"
#include "multilevel_search.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace emplace::agents {
namespace {

// Shares of the budget after which rounds end: annealing on the finest level, then two multilevel
// searches around the best placement.
constexpr double kAnnealing = 0.35;
constexpr double kFirstCycle = 0.75;
constexpr double kSecondCycle = 1;

// A portfolio: the best of the heuristics, annealed on the finest level, then on several levels
// around the best placement. With time as the budget, each round runs one search for each thread,
// and the next round starts from the best of all.
class Auto final : public Agent {
 public:
  explicit Auto(const Params&) {}

  Placement place(const Problem& problem, Session& session) override {
    std::vector<Evaluated> starts = evaluated_starts(problem, session);
    if (problem.placeable_devices().size() > 1) {
      run_round(session, kAnnealing, [&](std::size_t index, Session& child) {
        anneal(child, starts[index % starts.size()].placement, 1);
      });
      for (const double until_share : {kFirstCycle, kSecondCycle}) {
        const Placement best = session.best_placement().value_or(starts.front().placement);
        run_round(session, until_share,
                  [&](std::size_t, Session& child) { search_levels_around(child, best, 1); });
      }
    }
    return session.best_placement().value_or(std::move(starts.front().placement));
  }

 private:
  static void run_round(Session& session, double until_share,
                        const std::function<void(std::size_t, Session&)>& search) {
    const double used = session.share_used();
    if (used < until_share) {
      session.run_in_parallel(session.concurrency(), (until_share - used) / (1 - used), search);
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

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

// Shares of the budget after which the first and the second round end.
constexpr double kFirstRound = 0.4;
constexpr double kSecondRound = 0.7;

// A portfolio, by successive halving (Jamieson, Talwalkar 2016): the placements of heuristics; then
// searches side by side, two that anneal the best of these on the finest level and two on several
// levels; then the two best go on; then the best alone, on two random streams.
class Auto final : public Agent {
 public:
  explicit Auto(const Params&) {}

  Placement place(const Problem& problem, Session& session) override {
    std::vector<Evaluated> candidates = evaluated_starts(problem, session);
    Placement fallback = candidates.front().placement;
    if (problem.placeable_devices().size() > 1) {
      candidates = first_round(session, candidates);
      candidates = next_round(session, kSecondRound, {0, 1}, candidates);
      next_round(session, 1, {0, 0}, candidates);
    }
    return session.best_placement().value_or(std::move(fallback));
  }

 private:
  using Candidates = std::vector<Evaluated>;

  // Runs searches side by side until `until_share` of the budget is used. Returns what each found,
  // best first.
  static Candidates run_round(Session& session, double until_share, std::size_t count,
                              const std::function<void(std::size_t, Session&)>& search) {
    Candidates found(count);
    const double used = session.share_used();
    if (used >= until_share) {
      return {};
    }
    session.run_in_parallel(count, (until_share - used) / (1 - used),
                            [&](std::size_t index, Session& child) {
                              search(index, child);
                              if (child.best_placement()) {
                                found[index] = {*child.best_placement(), child.best_evaluation()};
                              }
                            });
    std::erase_if(found, [](const Evaluated& each) { return each.placement.size() == 0; });
    std::ranges::stable_sort(found, [](const Evaluated& a, const Evaluated& b) {
      return a.evaluation.better_than(b.evaluation);
    });
    return found;
  }

  static Candidates first_round(Session& session, const Candidates& starts) {
    Candidates found = run_round(session, kFirstRound, 4, [&](std::size_t index, Session& child) {
      if (index < 2) {
        anneal(child, starts[std::min(index, starts.size() - 1)].placement, 1);
      } else {
        search_levels(child, 1);
      }
    });
    return found.empty() ? starts : found;
  }

  // Goes on with the candidates of these places.
  static Candidates next_round(Session& session, double until_share,
                               const std::vector<std::size_t>& places,
                               const Candidates& candidates) {
    Candidates found =
        run_round(session, until_share, places.size(), [&](std::size_t index, Session& child) {
          anneal(child, candidates[std::min(places[index], candidates.size() - 1)].placement, 1);
        });
    return found.empty() ? candidates : found;
  }
};

EMPLACE_REGISTER_AGENT(
    Auto, {.name = "auto",
           .kind = AgentKind::kSearch,
           .summary = "the best of all: heuristics, then searches side by side, the "
                      "best of which go on",
           .description = "A portfolio: asks the heuristics, anneals the best of their "
                          "placements on the finest level and on several levels, and "
                          "gives the rest of the budget to the best. It uses two to four "
                          "threads. Use it unless you compare agents; emplace place does.",
           .reference = "successive halving: Jamieson, Talwalkar, AISTATS 2016",
           .deterministic = false});

}  // namespace
}  // namespace emplace::agents

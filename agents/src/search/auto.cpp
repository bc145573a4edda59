#include "annealing.hpp"
#include "learned_search/policy.hpp"
#include "list_search.hpp"
#include "multilevel_search.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// Share of what the heuristics leave that explores; the rest anneals the best placements of all.
constexpr double kExploration = 0.5;

// With fewer evaluations for each group a multilevel search explores alone.
constexpr std::int64_t kFewEvaluations = 20;

// Up to so many groups the order on devices is searched, too: making a list costs more than a
// simulation where there are many.
constexpr GroupId kFewGroups = 400;

// Up to so many groups learned moves are tried.
constexpr GroupId kManyGroups = 10'000;

// By how much an order must shorten the step to be kept where there are more.
constexpr double kGainOfOrders = 1.01;

// A portfolio: the heuristics, the cheapest first; a multilevel search, and beside it
// `learned-search` from the best placement so far, or a search of lists where there are few groups,
// or annealing where there are many; then annealing from the best of all. With time as the budget,
// there is a search for each thread.
class Auto final : public Agent {
 public:
  explicit Auto(const Params&) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    const Coarsening coarsening(problem);
    const std::vector<Evaluated> starts = evaluated_starts_and_orders(problem, evaluator);
    std::vector<Evaluated> found = starts;
    if (problem.placeable_devices().size() > 1) {
      explore(coarsening, evaluator, found);
      refine(coarsening, evaluator, found);
    }
    return evaluator.incumbent().placement().value_or(starts.front().placement);
  }

 private:
  static void explore(const Coarsening& coarsening, Evaluator& evaluator,
                      std::vector<Evaluated>& found) {
    const GroupId num_groups = coarsening.problem().num_groups();
    const Placement start = start_of_annealing(num_groups, found);
    const bool has_few =
        evaluator.budget().evaluations_left() < kFewEvaluations * std::int64_t{num_groups};
    const std::size_t count =
        has_few ? 1 : std::max<std::size_t>(2, evaluator.budget().concurrency());
    std::vector<std::optional<Evaluated>> ends(count);
    evaluator.run_in_parallel(count, kExploration, [&](std::size_t index, Evaluator& child) {
      if (index % 2 == 0) {
        search_levels(child, coarsening, heft);
      } else if (num_groups <= kFewGroups) {
        search_lists(child, 1);
      } else if (num_groups <= kManyGroups) {
        learned_search::run_default_episode(child, start);
      } else {
        anneal(child, coarsening, start, 1);
      }
      if (const auto& best = child.incumbent().placement()) {
        ends[index] = Evaluated{*best, child.incumbent().evaluation()};
      }
    });
    for (std::optional<Evaluated>& end : ends) {
      if (end) {
        found.push_back(std::move(*end));
      }
    }
  }

  // Anneals the best placement; on small graphs, every second search goes on with lists.
  static void refine(const Coarsening& coarsening, Evaluator& evaluator,
                     const std::vector<Evaluated>& found) {
    const GroupId num_groups = evaluator.problem().num_groups();
    const Placement& start = start_of_annealing(num_groups, found);
    evaluator.run_in_parallel(evaluator.budget().concurrency(), 1,
                              [&](std::size_t index, Evaluator& child) {
                                if (index % 2 == 1 && num_groups <= kFewGroups) {
                                  search_lists(child, 1);
                                } else {
                                  anneal(child, coarsening, start, 1);
                                }
                              });
  }

  // Returns the best placement, but one with an order only where that pays, since its steps are
  // always simulated in full.
  static const Placement& start_of_annealing(GroupId num_groups,
                                             const std::vector<Evaluated>& found) {
    const double gain = num_groups <= kFewGroups ? 1 : kGainOfOrders;
    const auto cost_us = [gain](const Evaluated& one) {
      const double order = one.placement.has_priorities() ? gain : 1;
      return std::pair(one.evaluation.status, order * one.evaluation.objective_us());
    };
    return std::ranges::min_element(found, {}, cost_us)->placement;
  }
};

EMPLACE_REGISTER_AGENT(
    Auto, {.name = "auto",
           .kind = AgentKind::kSearch,
           .summary = "the best of heuristics, annealing and multilevel search",
           .description =
               "A portfolio: asks the heuristics, explores by multilevel search and, where "
               "the budget is large, by learned-search or, on small graphs, by priority lists, and "
               "then anneals the best placement. With a time limit it searches on all "
               "threads. Use it unless you compare agents; it is the default of emplace place.",
           .reference = "algorithm portfolios: Huberman, Lukose, Hogg, Science 275, 1997",
           .deterministic = false});

}  // namespace
}  // namespace emplace::agents

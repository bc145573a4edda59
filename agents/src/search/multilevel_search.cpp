#include "multilevel_search.hpp"

#include "annealing.hpp"
#include "coarsening/group_nesting.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// Returns the weight of a level's part of the budget.
double weight_of(GroupId groups) { return groups * std::sqrt(static_cast<double>(groups)); }

// Returns the better of two placements.
Placement better_of(Evaluator& evaluator, Placement first, Placement second) {
  if (first == second) {
    return second;
  }
  const Evaluation of_first = evaluator.evaluate(first);
  return evaluator.evaluate(second).better_than(of_first) ? std::move(second) : std::move(first);
}

}  // namespace

void search_levels(Evaluator& evaluator, const Coarsening& coarsening, ListScheduler* heuristic) {
  const Problem& problem = evaluator.problem();
  const std::vector<GroupId> sizes = coarsening.levels();  // finest first
  double weight = 0;
  for (const GroupId size : sizes) {
    weight += weight_of(size);
  }
  const double from_share = evaluator.budget().share_used();
  double weight_so_far = 0;

  struct Found {
    Grouping grouping;
    Placement placement;
  };
  std::optional<Found> above;  // on the level above
  for (std::size_t level = sizes.size(); level-- > 0 && !evaluator.budget().exhausted();) {
    const Problem here =
        level == 0 ? problem : problem.regrouped(coarsening.grouping(sizes[level]));
    Evaluator on_level(evaluator, here);
    Placement from = heuristic(here, evaluator.budget(), StepOrder::kQueue);
    if (above) {
      from = better_of(on_level, std::move(from),
                       GroupNesting(here.grouping(), above->grouping).expand(above->placement));
    }
    weight_so_far += weight_of(sizes[level]);
    const double until = level == 0 ? 1 : from_share + (1 - from_share) * weight_so_far / weight;
    const Coarsening of_level(here);
    anneal(on_level, level == 0 ? coarsening : of_level, from, until);
    above = {here.grouping(), on_level.incumbent().placement().value_or(std::move(from))};
  }
}

}  // namespace emplace::agents

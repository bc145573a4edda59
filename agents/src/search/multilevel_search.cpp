#include "multilevel_search.hpp"

#include "annealing.hpp"
#include "coarsening/group_nesting.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/base/check.hpp>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// Returns the weight of a level's part of the budget.
double weight_of(GroupId groups) { return groups * std::sqrt(static_cast<double>(groups)); }

// Returns the better of a placement and one that there may be.
Placement better_of(Session& session, std::optional<Placement> first, Placement second) {
  if (!first || *first == second) {
    return second;
  }
  const Evaluation of_first = session.evaluate(*first);
  return session.evaluate(second).better_than(of_first) ? std::move(second) : *std::move(first);
}

}  // namespace

void search_levels(Session& session, const Coarsening& coarsening, const LevelStart& start) {
  const Problem& problem = session.problem();
  const std::vector<GroupId> sizes = coarsening.levels();  // finest first
  double weight = 0;
  for (const GroupId size : sizes) {
    weight += weight_of(size);
  }
  const double from_share = session.share_used();
  double weight_so_far = 0;

  struct Found {
    Grouping grouping;
    Placement placement;
  };
  std::optional<Found> above;  // on the level above
  for (std::size_t level = sizes.size(); level-- > 0 && !session.exhausted();) {
    const Problem here =
        level == 0 ? problem : problem.regrouped(coarsening.grouping(sizes[level]));
    Session on_level(session, here);
    std::optional<Placement> from = start(session, here, !above);
    if (above) {
      from = better_of(on_level, std::move(from),
                       GroupNesting(here.grouping(), above->grouping).expand(above->placement));
    }
    EMPLACE_CHECK(from, "the coarsest level of {} groups has no start", here.num_groups());
    weight_so_far += weight_of(sizes[level]);
    const double until = level == 0 ? 1 : from_share + (1 - from_share) * weight_so_far / weight;
    const Coarsening of_level(here);
    anneal(on_level, level == 0 ? coarsening : of_level, *from, until);
    above = {here.grouping(), on_level.best_placement().value_or(*std::move(from))};
  }
}

LevelStart heuristic_start(std::string agent) {
  return [agent = std::move(agent)](Session& session, const Problem& level, bool) {
    Session on_level(session, level);
    return AgentRegistry::global().make(Spec{agent})->place(level, on_level);
  };
}

}  // namespace emplace::agents

#include "multilevel_search.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/sim/coarsening.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace emplace::agents {
namespace {

bool evaluates(const std::string& agent) {
  return AgentRegistry::global().info(agent).kind != AgentKind::kHeuristic;
}

// Places `level`, a coarser level of the session's problem, as `agent` does. One that evaluates
// placements has `share` of the budget that is left.
Placement placed_by(const std::string& agent, Session& session, const Problem& level,
                    double share) {
  const std::unique_ptr<Agent> inner = AgentRegistry::global().make(Spec{agent});
  if (!evaluates(agent)) {
    Session here(session, level);
    return inner->place(level, here);
  }
  std::optional<Placement> placement;
  session.run_in_parallel(1, share, [&](std::size_t, Session& child) {
    Session here(child, level);
    placement = inner->place(level, here);
  });
  return *std::move(placement);
}

// Returns the better of two placements by their evaluations.
Placement better_of(Session& session, Placement first, Placement second) {
  const Evaluation of_first = session.evaluate(first);
  return session.evaluate(second).better_than(of_first) ? std::move(second) : std::move(first);
}

}  // namespace

void search_levels(Session& session, double until_share, const MultilevelOptions& options) {
  const Problem& problem = session.problem();
  const Coarsening& coarsening = problem.coarsening();
  const std::span<const GroupId> sizes = coarsening.levels();  // finest first
  const std::size_t coarsest = sizes.size() - 1;
  const double from_share = session.share_used();
  const double level_share = (until_share - from_share) * options.coarse_share /
                             static_cast<double>(std::max<std::size_t>(coarsest, 1));

  std::optional<Placement> above;  // what the level above found
  std::optional<Grouping> above_grouping;
  for (std::size_t level = coarsest + 1; level-- > 0 && !session.exhausted();) {
    const Problem here =
        level == 0 ? problem : problem.regrouped(coarsening.grouping(sizes[level]));
    Session on_level(session, here);
    std::optional<Placement> start;
    if (level == coarsest || !evaluates(options.inner)) {
      start = placed_by(options.inner, session, here, level_share);
    }
    if (above) {
      Placement expanded = GroupNesting(here.grouping(), *above_grouping).expand(*above);
      start = start ? better_of(on_level, std::move(*start), std::move(expanded))
                    : std::move(expanded);
    }
    const double until =
        level == 0 ? until_share
                   : from_share + level_share * static_cast<double>(coarsest + 1 - level);
    anneal(on_level, *start, until, options.annealing);
    above = on_level.best_placement().value_or(*std::move(start));
    above_grouping = here.grouping();
  }
}

}  // namespace emplace::agents

#pragma once

// Multilevel search (Walshaw 2004): places a coarse level of a problem and refines the placement on
// finer and finer levels by annealing. Coarse levels find which parts of the graph belong together,
// which no sequence of small moves finds on the finest level; fine levels find the borders.
//
// A level gets a part of the budget that is proportional to the square root of its groups. One
// thread.

#include <emplace/agents/session.hpp>
#include <emplace/sim/coarsening.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <functional>
#include <optional>

namespace emplace::agents {

/// Returns a placement of a level from which its search may start, or nothing. `level` is a coarser
/// grouping of the session's problem; `is_coarsest` says that it is the first.
using LevelStart = std::function<std::optional<Placement>(Session& session, const Problem& level,
                                                          bool is_coarsest)>;

/// Searches the levels of `coarsening`, coarsest first, until `session` has used `until_share` of
/// its budget. Each level starts from what the level before found, or from `start` if that is
/// better. The result is the best placement of the session. Requires: a coarsening of the session's
/// problem, and a start of the coarsest level.
void search_levels(Session& session, const Coarsening& coarsening, double until_share,
                   const LevelStart& start);

/// Goes up and down again from a placement: coarsens the problem such that each level can express
/// `placement`, and searches these levels (iterated multilevel search).
void search_levels_around(Session& session, const Placement& placement, double until_share);

}  // namespace emplace::agents

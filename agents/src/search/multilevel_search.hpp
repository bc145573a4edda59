#pragma once

// Multilevel search (Walshaw 2004): places a coarse level of a problem and refines the placement on
// finer and finer levels by annealing. Coarse levels find which parts of the graph belong together,
// which no sequence of small moves finds on the finest level; fine levels find the borders.
//
// A level of n groups gets a part of the budget that is proportional to n^1.5: the finest level
// about two thirds of it. One thread.

#include "coarsening/coarsening.hpp"

#include <emplace/agents/session.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <functional>
#include <optional>
#include <string>

namespace emplace::agents {

/// Returns a placement of a level from which its search may start, or nothing. `level` is a coarser
/// grouping of the session's problem; `is_coarsest` says that it is the first.
using LevelStart = std::function<std::optional<Placement>(Session& session, const Problem& level,
                                                          bool is_coarsest)>;

/// Searches the levels of the session's problem, coarsest first, with the whole budget. Each level
/// starts from what the level before found, or from `start` if that is better. The result is the
/// best placement of the session. Requires: a coarsening of the session's problem; a start of the
/// coarsest level.
void search_levels(Session& session, const Coarsening& coarsening, const LevelStart& start);

/// Returns a start that asks a heuristic for a placement of each level.
LevelStart heuristic_start(std::string agent);

}  // namespace emplace::agents

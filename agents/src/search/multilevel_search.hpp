#pragma once

// Multilevel search (Walshaw 2004): places a coarse level of a problem and refines the placement on
// finer and finer levels by annealing. Coarse levels find which parts of the graph belong together,
// which no sequence of small moves finds on the finest level; fine levels find the borders.
//
// A level of n groups gets a part of the budget that is proportional to n^1.5: the finest level
// about two thirds of it. One thread.

#include "coarsening/coarsening.hpp"
#include "heuristic/heuristics.hpp"

#include <emplace/agents/evaluator.hpp>

namespace emplace::agents {

/// Searches the levels of the evaluator's problem, coarsest first, with the whole budget. Each
/// level starts from what the level before found, or from what `heuristic` makes of it if that is
/// better. The result is the incumbent. Requires: a coarsening of the evaluator's problem.
void search_levels(Evaluator& evaluator, const Coarsening& coarsening, ListScheduler* heuristic);

}  // namespace emplace::agents

#pragma once

// Simulated annealing, as a part of agents: `simulated-annealing` is little else, and others use it
// to refine placements.
//
// A proposed move (move_proposals.hpp) is kept if it shortens the step, otherwise with probability
// exp(-increase / T) (Kirkpatrick, Gelatt, Vecchi 1983). The random number is drawn before the
// evaluation, so that the evaluation may stop where the answer is no. T falls geometrically with
// the share of the budget that is used. Its unit is the mean time of a group: the scale of what a
// move changes. Where the budget is large for the number of groups, a cycle ends after a number of
// evaluations for each group; then the next begins at the best placement with twice the
// temperature, since small problems have high barriers and little else to find. Memory has a price
// that adapts (memory_penalty.hpp), and what has not fitted for long is left for what did.

#include "move_proposals.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/sim/placement.hpp>

namespace emplace::agents {

/// Says how to anneal.
struct AnnealingOptions {
  double initial_temperature = 0.05;  ///< in mean times of a group
  double final_temperature = 0.001;   ///< in the same unit
  bool cycles = true;                 ///< or one cycle, however large the budget is
  MoveProposals::Options moves{};
};

/// Anneals from `start` until `evaluator` has used `until_share` of its budget. The result is the
/// incumbent. One thread. Requires: a coarsening of the evaluator's problem.
void anneal(Evaluator& evaluator, const Coarsening& coarsening, const Placement& start,
            double until_share, const AnnealingOptions& options = {});

}  // namespace emplace::agents

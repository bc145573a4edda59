#pragma once

// A search for the order in which devices run their groups, by annealing over priority lists. A
// list becomes a placement by list scheduling (Graham 1969): of the ready groups and devices the
// pair that can start first, and of several groups the one that comes first in the list; the order
// of that schedule becomes the priorities. A move takes one group of the list to the place of
// another. It starts from the upward ranks. Where devices are alike and transfers short, the order
// is what keeps a placement from the optimum.
//
// Complexity of an evaluation: O(groups * ready groups * devices), and a simulation. One thread.

#include <emplace/agents/evaluator.hpp>

namespace emplace::agents {

/// Searches until `evaluator` has used `until_share` of its budget. The result is the best
/// placement of the evaluator.
void search_lists(Evaluator& evaluator, double until_share);

}  // namespace emplace::agents

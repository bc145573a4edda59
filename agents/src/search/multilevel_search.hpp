#pragma once

// Multilevel search (Walshaw 2004): a problem is coarsened, the coarsest level is placed, and each
// finer level starts from the placement of the one before and is refined by annealing. Coarse levels
// decide which parts of the graph go together, which no sequence of small moves finds on the finest
// level; fine levels decide the borders.

#include "annealing.hpp"

#include <emplace/agents/session.hpp>

#include <string>

namespace emplace::agents {

/// Says how to search on several levels.
struct MultilevelOptions {
  std::string inner{"heft"};  ///< agent that places the coarsest level
  double coarse_share = 0.5;  ///< of the budget, for all levels but the finest
  AnnealingOptions annealing{};
};

/// Searches until `session` has used `until_share` of its budget. The result is the best placement of
/// the session. One thread.
void search_levels(Session& session, double until_share, const MultilevelOptions& options = {});

}  // namespace emplace::agents

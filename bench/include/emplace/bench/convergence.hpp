#pragma once

// How the best placement of each agent came about: the best step time so far, over evaluations and
// over seconds, summarized over the repetitions of a cell. Before a repetition has a placement that
// fits, its step time is infinite; after its end it stays constant. So with r repetitions
//
//     least(x)   = min over repetitions of best(x)      finite from the first that has one
//     median(x)  = median of best(x)                    finite from more than half on
//     largest(x) = max over repetitions of best(x)      finite once all have one
//
// and the last median is that of the report. Repetitions that ran out of memory or failed do not
// count, as in the report. Histories are thinned (kHistoryStep), so curves lie at most that share
// above the true ones. Complexity: O(n r log r) for n improvements. Thread-safe.

#include <emplace/bench/result_store.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace emplace::bench {

/// The best step times so far from `at` on, up to the next point; infinity where there is none yet.
struct ConvergencePoint {
  double at = 0;  ///< evaluations, or seconds
  double median_us = 0;
  double least_us = 0;
  double largest_us = 0;

  bool operator==(const ConvergencePoint&) const = default;
};

/// Describes one agent's way to its best. There is a point wherever median, least or largest
/// change, and a last one at the end of the longest repetition. An agent that evaluates nothing has
/// one point at 0 evaluations.
struct ConvergenceCurve {
  std::string agent{};           ///< label
  std::int64_t repetitions = 0;  ///< that are ok
  std::vector<ConvergencePoint> by_evaluations{};
  std::vector<ConvergencePoint> by_seconds{};
};

/// The curves of one graph and cluster, agents in the order of the suite.
struct Convergence {
  std::string graph{};
  std::string cluster{};
  std::vector<ConvergenceCurve> curves{};
};

/// Returns the curves of each graph and cluster that have results, in the order of the suite.
std::vector<Convergence> convergence_of(const StoredRun& run);

}  // namespace emplace::bench

#pragma once

// Compares the agents of a run over all its problems, that is pairs of graph and cluster: by a
// performance profile (Dolan and More 2002), and in pairs with the best agent.
//
//     profile of an agent at t = share of all problems on which its median step time is at most t
//                                times the least median of any agent
//     over best                = geometric mean of these ratios over all problems; an agent that
//                                did not fit on some has none
//
// The best agent has a step time on most problems, and of those that do it is the one whose ratios
// there have the least geometric mean. All others are compared with it on the problems on which
// both have a step time (paired_comparison.hpp); the p of these tests are also corrected
// (holm.hpp). Intervals and tests assume that problems are drawn independently. Graphs that were
// picked by hand for a suite are not, so the results describe these graphs and say little about
// others.

#include <emplace/bench/paired_comparison.hpp>
#include <emplace/bench/report.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::bench {

/// One agent's results over all problems.
struct OverallRow {
  std::string agent{};                ///< label
  std::vector<double> times_best{};   ///< its profile: ratios to the least median, sorted
  std::optional<double> over_best{};  ///< see the head of this file
  /// Comparison with the best agent; nothing for that agent itself, and if there are no common
  /// problems.
  std::optional<PairedComparison> against_best{};
  double corrected_p = 1;  ///< of that comparison
};

/// Compares all agents; the best come first.
struct OverallComparison {
  std::int64_t problems = 0;  ///< on which any agent has a step time
  std::vector<OverallRow> rows{};
};

/// Compares the agents of `tables`.
OverallComparison compare_over_all(std::span<const ReportTable> tables);

}  // namespace emplace::bench

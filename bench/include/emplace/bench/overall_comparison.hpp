#pragma once

// Compares the agents of a run over all its problems, that is pairs of graph and cluster: by a
// performance profile (Dolan and More 2002), and in pairs with the best agent.
//
//     profile of an agent at t = share of all problems on which its median step time is at most t
//                                times the least median of any agent
//     over best                = geometric mean of these ratios, over problems that it could hold
//
// The best agent has a step time on most problems, and among those that do the least over best. All
// others are compared with it on problems of which both have a step time
// (paired_comparison.hpp). Intervals and tests assume that problems are drawn independently; graphs
// that a suite picked by hand are not, so they describe these graphs and say little of others.

#include <emplace/bench/paired_comparison.hpp>
#include <emplace/bench/report.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::bench {

/// Holds one agent's results over all problems.
struct OverallRow {
  std::string agent{};               ///< label
  std::vector<double> times_best{};  ///< its profile: ratios to the least median, sorted
  double over_best = 0;              ///< see the head of this file; 0 if it could hold none
  /// With the best agent; nothing for that agent itself, and without common problems.
  std::optional<PairedComparison> against_best{};
};

/// Compares all agents; the best come first.
struct OverallComparison {
  std::int64_t problems = 0;  ///< on which any agent has a step time
  std::vector<OverallRow> rows{};
};

/// Compares the agents of `tables`.
OverallComparison compare_over_all(std::span<const ReportTable> tables);

}  // namespace emplace::bench

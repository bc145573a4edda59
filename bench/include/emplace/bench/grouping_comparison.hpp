#pragma once

// Measures what a grouping costs. Fewer groups make a good placement easier to find, but ops in one
// group cannot run in parallel on two devices. The lost parallelism of a grouping is
//
//   step time of the best placement known with the grouping / of the best known without it - 1
//
// Known placements are those that a search finds: an agent with a budget of evaluations and a seed.
// "Without a grouping" means `colocation`, the finest grouping. Every other grouping joins its
// groups, so a placement found with any grouping is also one without, and the best known without a
// grouping is the best of all that were found. So 0 means that nothing better is known, not that
// nothing better exists.

#include <emplace/bench/cell.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// The numbers of one grouping of a graph on a cluster.
struct GroupingNumbers {
  GroupId groups = 0;
  std::int64_t cut_bytes = 0;  ///< see cut_bytes()
  /// The share of the total work that is in the heaviest group. The work of a group is its cost,
  /// averaged over the placeable devices.
  double largest_share = 0;
};

/// Returns the numbers of the problem's grouping.
GroupingNumbers numbers_of(const Problem& problem);

/// The numbers of one grouping and the result of the search with it.
struct ComparedGrouping {
  std::string name{};  ///< strategy
  GroupingNumbers numbers{};
  CellStatus status = CellStatus::kOk;       ///< of the search
  double step_time_us = 0;                   ///< of the best placement found
  std::optional<double> lost_parallelism{};  ///< nothing if no placement that fits was found
};

/// The numbers of all groupings of a graph on a cluster.
struct GroupingComparison {
  std::string agent{};
  std::int64_t max_evaluations = 0;
  std::uint64_t root_seed = 0;
  std::optional<double> best_step_time_us{};  ///< known without a grouping
  std::vector<ComparedGrouping> groupings{};  ///< by name
};

/// Searches with every grouping, in parallel; `groups` is the target of those that take one, 0 for
/// the default. The result is the same on any number of threads. Throws Error.
GroupingComparison compare_groupings(std::string_view graph, std::string_view cluster,
                                     std::int64_t groups, std::int64_t max_evaluations,
                                     std::uint64_t root_seed);

}  // namespace emplace::bench

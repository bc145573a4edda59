#pragma once

// What a grouping is worth. Fewer groups make a placement easier to find, but a group that should
// have been parted costs time that no agent can win back. The lost parallelism of a grouping is
//
//   step time of the best placement known with the grouping / of the best known without it - 1
//
// Best known placements come from a search that says what it is: an agent with a budget of
// simulations and a seed. Without a grouping means: with `colocation`, the finest that there is.
// Every other grouping joins its groups, so a placement found with any grouping is one without too,
// and what counts as known without a grouping is the best of all that were found. Hence 0 means
// that nothing better is known, not that nothing better exists.

#include <emplace/bench/cell.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Holds the numbers of one grouping of a graph on a cluster.
struct GroupingNumbers {
  GroupId groups = 0;
  std::int64_t cut_bytes = 0;  ///< as of cut_bytes()
  double largest_share = 0;  ///< the heaviest group's share of the work: of the mean time that its
                             ///< ops keep a placeable device busy
};

/// Returns the numbers of the problem's grouping.
GroupingNumbers numbers_of(const Problem& problem);

/// Holds one grouping's numbers and what the search found with it.
struct ComparedGrouping {
  std::string name{};  ///< strategy
  GroupingNumbers numbers{};
  CellStatus status = CellStatus::kOk;       ///< of the search
  double step_time_us = 0;                   ///< of the best placement found
  std::optional<double> lost_parallelism{};  ///< nothing where no placement was found that fits
};

/// Holds the numbers of all groupings of a graph on a cluster.
struct GroupingComparison {
  std::string agent{};
  std::int64_t max_evaluations = 0;
  std::uint64_t root_seed = 0;
  std::optional<double> best_step_time_us{};  ///< known without a grouping
  std::vector<ComparedGrouping> groupings{};  ///< by name
};

/// Searches with every grouping, in parallel; `groups` is the target of those that take one, 0 for
/// the default. The same bits on any number of threads. Throws Error.
GroupingComparison compare_groupings(std::string_view graph, std::string_view cluster,
                                     std::int64_t groups, std::int64_t max_evaluations,
                                     std::uint64_t root_seed);

}  // namespace emplace::bench

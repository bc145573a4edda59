#pragma once

// Samples a coarser grouping: contracts edges between the groups of a problem until a given number
// of groups is left. Each edge has a score s. The next edge is sampled, among those that may be
// contracted, with a probability proportional to e^s (Plackett-Luce: Luce 1959, Plackett 1975). An
// edge may be contracted if no cycle results and no group gets more than `balance` times an even
// share of the total time; where no such edge is left, this limit is doubled.
//
// The scores can be trained by REINFORCE: each sample comes with the gradient of its log
// probability with respect to the scores. Each contraction contributes 1 for the contracted edge,
// minus the probability of each edge that could have been contracted.
//
// Complexity: O(contractions * edges), and for each contraction a search for a second path.

#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/random.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents::placeto {

/// Returns the number of groups after a contraction of `problem` to `target` groups: more where the
/// graph has more connected components, fewer where it has fewer groups.
GroupId groups_after_contraction(const Problem& problem, GroupId target);

/// Contracts the groups of one problem.
class EdgeContraction {
 public:
  /// Reads `problem`. Requires: target >= 1.
  EdgeContraction(const Problem& problem, GroupId target, double balance);

  /// Holds a sampled grouping.
  struct Draw {
    /// Holds the coarse group of each group; coarse groups are numbered in topological order.
    IdVector<GroupId, GroupId> coarse_of{};
    /// Holds the gradient of the log probability with respect to the edges' scores.
    std::vector<double> log_probability_gradient{};
  };

  /// Samples a coarser grouping, given the score of each of the problem's group edges. Without
  /// `random` it is greedy: contracts the edge of the highest score.
  Draw draw(std::span<const float> scores, RandomStream* random) const;

 private:
  GroupId target_;
  std::vector<std::pair<GroupId, GroupId>> ends_;  // of the edges
  std::vector<std::int64_t> bytes_;
  std::vector<GroupId> order_;
  IdVector<GroupId, double> cost_us_;
  double total_us_ = 0;
  double limit_us_ = 0;  // of a group's time, at first
};

}  // namespace emplace::agents::placeto

#pragma once

// Draws a coarser grouping: groups of a problem become one along edges between them, until a number
// of groups is left. Each edge has a score; of the edges that may be contracted next, one with
// score s is drawn with a probability in proportion to e^s (Luce 1959; Plackett 1975). An edge may
// be contracted if that makes no cycle and no group that takes more than `balance` times its share
// of all time; where no edge is left, that bound is doubled.
//
// Since the result is drawn, what it is worth can teach the scores by REINFORCE: with a draw comes
// the derivative of its log probability by each score, the sum over the drawn of 1 for the edge
// that was drawn, less the probability that each edge had.
//
// Complexity: O(contractions * edges), and for each contraction a search for a second path.

#include <emplace/graphs/random.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents::placeto {

/// Returns how many groups are left of those of `problem` when a contraction aims at `target`: more
/// where the graph has more parts that nothing connects, fewer where it has fewer groups.
GroupId groups_after_contraction(const Problem& problem, GroupId target);

/// Contracts the groups of one problem.
class EdgeContraction {
 public:
  /// Reads `problem`. Requires: a target of 1 at least.
  EdgeContraction(const Problem& problem, GroupId target, double balance);

  /// Holds what was drawn.
  struct Draw {
    /// Holds the coarse group of each group; they are numbered in topological order.
    std::vector<GroupId> coarse_of{};
    /// Holds the derivatives of the log probability by the scores of the problem's group edges.
    std::vector<double> slopes{};
  };

  /// Draws a coarser grouping, given the score of each of the problem's group edges. Without
  /// `random`, each edge that is contracted is the likeliest.
  Draw draw(std::span<const float> scores, RandomStream* random) const;

 private:
  GroupId target_;
  std::vector<std::pair<GroupId, GroupId>> ends_;  // of the edges
  std::vector<std::int64_t> bytes_;
  std::vector<GroupId> order_;
  std::vector<double> cost_us_;  // by group
  double total_us_ = 0;
  double most_us_ = 0;  // that a group may take, at first
};

}  // namespace emplace::agents::placeto

#pragma once

// Fewer, larger groups of the same problem, for agents that decide coarsely. Groups join two at a
// time, and each join takes one group away, so a coarsening has every number of groups from all
// down to a few, and any two of these groupings are nested: a placement of the coarser one is also
// a placement of the finer one. No join makes a cycle (ContractibleDag).
//
// The levels halve the number of groups, from all down to kCoarsestPerDevice for each placeable
// device. To reach a level of m groups, pairs of neighbours join in this order (heavy-edge
// coarsening of Karypis, Kumar 1998, on acyclic groups as in Herrmann et al. 2017 and Moreira,
// Popp, Schulz 2017):
//   1. pairs no heavier than an average group of the level before heavier ones, those by powers of
//      two;
//   2. the highest rating first. The rating of groups a and b is
//          separation(a, b) / (time(a) + time(b) + average time of the m groups)
//      Time is the mean over placeable devices. Separation is what it costs to place a and b apart:
//      the transfer between them, and again as much of it as the slack of the edge cannot hide,
//          transfer + max(0, transfer - slack)
//      where slack is how much the longest path through the edge is shorter than the longest path
//      of all, without transfers.
// Unconnected parts of a graph join last, as if ordered one after the other.
//
// Complexity: near-linear in groups and edges, times the number of levels; each join of a group
// with several consumers searches at most kMaxCycleSearch edges. Immutable and deterministic.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/placement.hpp>

#include <span>
#include <utility>
#include <vector>

namespace emplace {

class Problem;

/// How the groups of a problem join; see the head of this file. Problem::coarsening() makes one
/// that all users of the problem share.
class Coarsening {
 public:
  /// Least number of groups for each placeable device on the coarsest level.
  static constexpr GroupId kCoarsestPerDevice = 4;

  /// Coarsens the groups of `problem`, which need not outlive this.
  explicit Coarsening(const Problem& problem);

  /// Returns the numbers of groups of the levels, finest first: all, half of them, a quarter and so
  /// on; one level if there are few groups.
  std::span<const GroupId> levels() const { return levels_; }

  /// Returns the least number of groups that there is.
  GroupId fewest_groups() const { return num_groups_ - static_cast<GroupId>(joins_.size()); }

  /// Returns the grouping of ops into `groups` groups, or as many as there are if that is more, or
  /// fewest_groups() if that is less. Groups are numbered in topological order.
  Grouping grouping(GroupId groups) const;

 private:
  using Pair = std::pair<GroupId, GroupId>;

  GroupId num_groups_ = 0;
  std::vector<GroupId> group_of_op_;
  std::vector<Pair> edges_;  // between groups
  std::vector<Pair> joins_;  // members of the two groups that become one, in this order
  std::vector<GroupId> levels_;
};

/// Which groups of a finer grouping make up each group of a coarser one.
class GroupNesting {
 public:
  /// Requires: groupings of the same ops, and every group of `fine` is within one group of
  /// `coarse`.
  GroupNesting(const Grouping& fine, const Grouping& coarse);

  GroupId num_fine() const { return coarse_of_.end_id(); }
  GroupId num_coarse() const { return num_coarse_; }

  /// Returns the coarse group that contains a fine one.
  GroupId coarse_of(GroupId fine) const { return coarse_of_[fine]; }

  /// Returns the placement of the fine groups that is equivalent to `coarse`.
  Placement expand(const Placement& coarse) const;

  /// Returns the placement of the coarse groups that is nearest to `fine`: each group goes where
  /// most of its time is spent, and to the lowest device id in case of ties. Requires: the problem
  /// of the fine groups.
  Placement project(const Problem& problem, const Placement& fine) const;

  /// Returns the least value among the fine groups of each coarse group.
  IdVector<GroupId, double> least(IdSpan<GroupId, const double> fine) const;

  /// Returns whether some placement of the coarse groups is equivalent to `fine`.
  bool can_express(const Placement& fine) const;

 private:
  IdVector<GroupId, GroupId> coarse_of_;
  GroupId num_coarse_ = 0;
};

}  // namespace emplace

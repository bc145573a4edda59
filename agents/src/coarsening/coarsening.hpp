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
// with several consumers searches at most kMaxCycleSearch edges. Deterministic.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/problem.hpp>

#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents {

/// How the groups of a problem join; see the head of this file. They join when something is first
/// asked, by any thread.
class Coarsening {
 public:
  /// Least number of groups for each placeable device on the coarsest level.
  static constexpr GroupId kCoarsestPerDevice = 4;

  /// Coarsens the groups of `problem`, which must outlive this.
  explicit Coarsening(const Problem& problem) : problem_(problem) {}

  const Problem& problem() const { return problem_; }

  /// Returns the numbers of groups of the levels, finest first: all, half of them, a quarter and so
  /// on; one level if there are few groups.
  std::vector<GroupId> levels() const;

  /// Returns the least number of groups that there is.
  GroupId fewest_groups() const {
    return problem_.num_groups() - static_cast<GroupId>(joins().size());
  }

  /// Returns which of the groups are one at that number of groups (see grouping()): equal numbers,
  /// from 0, by their least members.
  IdVector<GroupId, GroupId> parts(GroupId groups) const;

  /// Returns the grouping of ops into `groups` groups, or as many as there are if that is more, or
  /// fewest_groups() if that is less. Groups are numbered in topological order.
  Grouping grouping(GroupId groups) const;

 private:
  using Pair = std::pair<GroupId, GroupId>;

  // Returns members of the two groups that become one, in this order.
  const std::vector<Pair>& joins() const;

  const Problem& problem_;
  mutable std::once_flag has_joined_;
  mutable std::vector<Pair> joins_;
};

}  // namespace emplace::agents

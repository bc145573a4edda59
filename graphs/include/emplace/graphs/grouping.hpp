#pragma once

// Agents place groups of ops, not ops: a training graph has thousands of ops, and most of them
// belong together. A Grouping says which op is in which group (docs/concepts/grouping.md).
//
// There are several ways to group ops (grouping_strategy.hpp). group_ops() follows three rules
// (Mirhoseini et al. 2017; Addanki et al. 2019, whose code for the last one was not released):
//   1. ops with the same colocation label form one group, along with all ops on a path from one of
//      them to another, because otherwise the group would wait for itself;
//   2. a group consumed by only one other group joins it;
//   3. neighbours merge, unless that makes a cycle.
// Rules 2 and 3 stop as soon as the target is reached, and take pairs of neighbours in this order:
// pairs of one pass (forward, or backward and update) before pairs across passes; pairs deep in a
// common scope before pairs that share less of it, so that one branch of a layer is together before
// branches are mixed; pairs no heavier than an average group at the target before heavier ones, by
// order of magnitude, so that groups stay balanced; rule 2 before rule 3; light before heavy; low
// ids first. Weight is bytes moved and FLOPs / 50, because a graph has no times.
//
// No merge makes a cycle: groups and the edges between them form a DAG, so "ancestors" and
// "descendants" of a group are well defined and list schedulers apply.
//
// Complexity: near-linear in ops and edges, plus a search of at most kMaxCycleSearch edges for each
// test of rule 3.

#include <emplace/base/ids.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Assigns every op of a graph to one group. Groups are numbered in topological order.
class Grouping {
 public:
  /// Takes the group of each op. Requires: ids are 0 to the largest without a gap, and the groups
  /// form a DAG.
  explicit Grouping(std::vector<GroupId> group_of);

  /// Returns the number of groups.
  GroupId size() const { return static_cast<GroupId>(offset_.size()) - 1; }

  /// Returns the number of ops.
  OpId num_ops() const { return static_cast<OpId>(group_of_.size()); }

  /// Returns the group of an op.
  GroupId group_of(OpId op) const { return group_of_[static_cast<std::size_t>(op)]; }

  /// Returns the ops of a group in ascending order.
  std::span<const OpId> members(GroupId group) const;

 private:
  std::vector<GroupId> group_of_;
  std::vector<OpId> members_;
  std::vector<std::size_t> offset_;
};

/// Number of groups that group_ops() aims at unless told otherwise.
inline constexpr GroupId kDefaultGroups = 128;

/// Number of edges after which a search for a cycle gives up; the pair then counts as not
/// mergeable, in group_ops() and in every other strategy.
inline constexpr std::size_t kMaxCycleSearch = 4096;

/// Returns a grouping into `target` groups: fewer if rule 1 alone makes fewer, more if no two
/// neighbours are left that can merge (the parts of a graph that is not connected stay separate).
/// Throws kFormat if the graph has a cycle, and kUsage if `target` is below 1.
Grouping group_ops(const OpGraph& graph, GroupId target = kDefaultGroups);

/// Returns the grouping in which each op is a group of its own; labels are ignored. Groups keep the
/// ids of the ops, so they are in topological order only if the ops are.
Grouping ungrouped(const OpGraph& graph);

/// Returns for each group the bytes of its output tensors that some op of another group reads. A
/// tensor counts once, however many groups read it; control edges move nothing. Requires: a
/// grouping of this graph.
std::vector<std::int64_t> outgoing_bytes(const OpGraph& graph, const Grouping& grouping);

/// Returns the sum of outgoing_bytes(): the bytes that would leave their device at least once if
/// each group had its own device.
std::int64_t cut_bytes(const OpGraph& graph, const Grouping& grouping);

}  // namespace emplace

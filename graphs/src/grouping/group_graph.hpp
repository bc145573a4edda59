#pragma once

// The graph among groups, which every grouping starts from and ends with: colocation makes the
// first groups, and in the end groups are numbered in topological order.

#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

/// Holds the edges between groups; two groups may have several.
struct GroupEdges {
  std::vector<std::pair<GroupId, GroupId>> ends{};  ///< producer and consumer
  std::vector<std::int64_t> bytes{};  ///< by edge: its tensor, once for each consuming group
};

/// Holds what is known of a group while groups form.
struct GroupContent {
  std::uint64_t work = 0;    ///< of the members, as of work_of()
  std::string_view scope{};  ///< what their scopes have in common
  bool forward = false;      ///< has ops of the forward pass
  bool backward = false;     ///< has ops of the backward pass or updates
};

/// Returns the bytes that an op moves, and as many FLOPs as a device typically does while it moves
/// a byte: a graph knows no times.
std::uint64_t work_of(const Op& op);

/// Returns what is known of a group of one op.
GroupContent content_of(const Op& op);

/// Returns what two groups are as one.
GroupContent merged(const GroupContent& a, const GroupContent& b);

/// Returns the number of elements of a scope.
int depth_of(std::string_view scope);

/// Returns the group of each op where ops with one label are a group, along with all ops on a way
/// from one of them to another, and any other op is one of its own. Groups form a DAG and are
/// numbered by their first ops. Throws kFormat if the ops have a cycle.
std::vector<GroupId> colocated_groups(const OpGraph& graph);

/// Returns `group_of` with groups numbered in the order of their first ops.
std::vector<GroupId> numbered_by_first_op(IdSpan<OpId, const GroupId> group_of);

/// Returns the number of groups. Requires: ids without a gap.
GroupId count_groups(IdSpan<OpId, const GroupId> group_of);

/// Returns the edges between different groups, control edges with 0 bytes among them.
GroupEdges edges_between(const OpGraph& graph, IdSpan<OpId, const GroupId> group_of);

/// Returns what is known of each group. Requires: numbered by first ops.
IdVector<GroupId, GroupContent> contents_of(const OpGraph& graph,
                                            IdSpan<OpId, const GroupId> group_of);

/// Returns the grouping, numbered in topological order, the group with the first op first where
/// there is a choice. Requires: groups form a DAG.
Grouping in_topological_order(const OpGraph& graph, IdSpan<OpId, const GroupId> group_of);

}  // namespace emplace

#pragma once

// Graphs to group, and what must hold of any grouping, checked from the ops alone.

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace emplace::test {

using Edges = std::vector<std::pair<OpId, OpId>>;

/// Returns ops called op0, op1, ... that move 100 bytes each and put out 4, and data edges between
/// them.
OpGraph graph_of(OpId num_ops, const Edges& edges);

/// Draws an integer in [0, bound).
using Below = std::function<std::uint64_t(std::uint64_t bound)>;

/// Draws a graph in which each op reads up to `max_inputs` earlier ones; one in ten shares a label
/// with its predecessor.
OpGraph draw_graph(OpId num_ops, std::uint64_t max_inputs, const Below& below);

/// Returns a training step of `num_ops` ops in layers of 100: each op reads up to three of the
/// layer above, and those of the second half also what mirrors them in the first.
OpGraph training_graph_of(OpId num_ops, const Below& below);

/// Returns the group of each op.
std::vector<GroupId> groups_of(const Grouping& grouping);

/// Returns what is wrong with a grouping, or nothing: an op in no group or in two, a label in two
/// groups, a group that is not numbered behind those that it reads from.
std::string fault_of(const OpGraph& graph, const Grouping& grouping);

/// Returns the number of parts of the graph that no edge joins.
GroupId count_parts(const OpGraph& graph);

}  // namespace emplace::test

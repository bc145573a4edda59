#pragma once

// A grouped graph as a picture for people, in Graphviz' DOT language: `dot -Tsvg` draws it.
//
// Groups of the forward pass stand in the left column and run down; those of the backward pass and
// of the updates stand beside what they belong to and run up, so that a training step has the shape
// of a U. A group is named by the scope that its ops share, or by its first and last layer, and
// tells its ops, FLOPs and the bytes that other groups read; it is the darker the more work it
// holds. An edge is the thicker the more bytes it moves, and tells how many if that is at least
// half of what any moves.

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string>

namespace emplace {

/// Returns the picture of a grouping of `graph`; `caption` stands above it, behind the graph's
/// name. Requires: validate() accepts the graph.
std::string write_grouping_dot(const OpGraph& graph, const Grouping& grouping,
                               const std::string& caption);

}  // namespace emplace

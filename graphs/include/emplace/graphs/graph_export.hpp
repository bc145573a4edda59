#pragma once

// Graphs for other programs, written through Boost.Graph. Requires everywhere: validate() accepts
// the graph.

#include <emplace/graphs/op_graph.hpp>

#include <string>

namespace emplace {

/// Returns the graph in Graphviz' DOT language. Nodes are numbered like the ops, their labels are
/// name and kind; edges are labelled with the bytes that they move, control edges are dashed.
std::string write_dot(const OpGraph& graph);

/// Returns the graph as GraphML: each node with name, kind, phase, scope and flops, each edge with
/// bytes and output (-1 for a control edge). Control characters in texts become U+FFFD.
std::string write_graphml(const OpGraph& graph);

}  // namespace emplace

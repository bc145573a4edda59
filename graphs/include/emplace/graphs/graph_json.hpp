#pragma once

// emplace's own graph format: JSON, versioned, described by graphs/schema/graph.schema.json.
//     {"schema": "emplace-graph", "version": 1, "name": "two", "source": "by hand",
//      "ops": [
//     {"name": "a", "kind": "matmul", "flops": 8, "outputs": [{"shape": [2, 2], "bytes": 16}]},
//     {"name": "b", "kind": "relu"}
//     ],
//      "edges": [
//     [0, 0, 1]
//     ]}
// An edge is [producer, output index or -1 for control, consumer]; ops are numbered from 0. Members
// that are not written have the defaults of Op, Output and GraphInfo; an op's name and kind are
// required. Edges are written in the order in which they were added to the graph, so that writing a
// graph and reading it back gives the same graph, including the order of every op's inputs and
// consumers. Reading is linear; a graph of 100,000 ops takes about a second.

#include <emplace/base/json_cursor.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string>
#include <string_view>

namespace emplace {

/// Returns the graph as JSON text, one op and one edge a line. Requires: validate() accepts the
/// graph.
std::string write_graph_json(const OpGraph& graph);

/// Reads and validates a graph; `source` names the text in errors. Throws kFormat.
OpGraph read_graph_json(std::string_view text, const std::string& source);

/// Returns attributes as a JSON object, `{"transB": true}`, without those that have their default
/// value; empty if that leaves none.
std::string attributes_text(const Attributes& attributes);

/// Reads the attributes of `op` from such an object; only kind and shape of the op are used. Throws
/// kFormat if ops of this kind have no such attributes.
Attributes read_attributes(const JsonCursor& object, const Op& op);

}  // namespace emplace

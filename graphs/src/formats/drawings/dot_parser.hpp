#pragma once

// The syntax of Graphviz' DOT language: directed graphs with subgraphs, defaults, ports and
// comments. What nodes, edges and attributes mean is not its business.

#include "attributed_graph.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Holds attributes that many nodes or edges may share.
using SharedAttributes = std::shared_ptr<const TextAttributes>;

/// Holds a node as it was named first.
struct DotNode {
  std::string id;
  std::string name;  ///< the id without escapes
  std::size_t line = 0;
  SharedAttributes defaults;
  TextAttributes attributes{};
};

/// Holds an edge between two nodes, by their positions.
struct DotEdge {
  std::size_t source = 0;
  std::size_t target = 0;
  std::size_t line = 0;
  SharedAttributes defaults;
  SharedAttributes attributes;
};

/// Holds a graph, its nodes and edges in the order of the file.
struct DotGraph {
  std::vector<DotNode> nodes{};
  std::vector<DotEdge> edges{};
  TextAttributes attributes{};
};

/// Parses a graph; `source` is the name of the file in errors. Throws kFormat.
DotGraph parse_dot(std::string_view text, const std::string& source);

}  // namespace emplace

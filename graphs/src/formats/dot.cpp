// Graphviz' DOT language. Nodes are numbered like the ops, their labels are name and kind; edges
// are labelled with the bytes that they move, control edges are dashed.

#include <emplace/graphs/graph_format.hpp>

#include <boost/graph/graphviz.hpp>
#include <fmt/format.h>

#include <ostream>
#include <sstream>

namespace emplace {
namespace {

using Vertex = boost::graph_traits<OpGraph>::vertex_descriptor;
using Edge = boost::graph_traits<OpGraph>::edge_descriptor;

// Returns what the edge moves; nothing along a control edge.
std::int64_t bytes_on(const OpGraph& graph, const Edge& edge) {
  const std::int32_t output = graph[edge].output;
  if (output == Dependency::kControl) {
    return 0;
  }
  return graph[boost::source(edge, graph)].outputs[static_cast<std::size_t>(output)].bytes;
}

// Escapes text for a quoted label. Boost's own escape_dot_string leaves backslashes and DOT's
// keywords alone, so that an op called `graph` or `a\` would break the file.
std::string escape_label(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '"':
        escaped += "\\\"";
        break;
      case '\\':
        escaped += "\\\\";
        break;
      case '\n':
        escaped += "\\n";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

std::string write(const OpGraph& graph, const Params&) {
  std::ostringstream out;
  boost::write_graphviz(
      out, graph,
      [&](std::ostream& to, Vertex op) {
        to << fmt::format(" [label=\"{}\\n{}\"]", escape_label(graph[op].name),
                          escape_label(graph[op].kind));
      },
      [&](std::ostream& to, const Edge& edge) {
        if (graph[edge].output == Dependency::kControl) {
          to << " [style=dashed]";
        } else {
          to << fmt::format(" [label=\"{} B\"]", bytes_on(graph, edge));
        }
      },
      [](std::ostream& to) { to << "node [shape=box];\n"; });
  return std::move(out).str();
}

const FormatRegistration kRegistration({.name = "dot",
                                        .summary = "Graphviz, to look at",
                                        .reference = "graphviz.org/doc/info/lang.html",
                                        .endings = {".dot", ".gv"},
                                        .write = write});

}  // namespace
}  // namespace emplace

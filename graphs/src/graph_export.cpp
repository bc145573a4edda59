#include <emplace/graphs/graph_export.hpp>

#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/property_map/dynamic_property_map.hpp>
#include <boost/property_map/function_property_map.hpp>
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

// XML 1.0 has no way to write control characters; U+FFFD stands for them.
std::string without_control_characters(const std::string& text) {
  std::string clean;
  for (const char letter : text) {
    const bool is_control = static_cast<unsigned char>(letter) < 0x20;
    if (is_control && letter != '\t' && letter != '\n') {
      clean += "\xEF\xBF\xBD";
    } else {
      clean += letter;
    }
  }
  return clean;
}

template <class Key, class Function>
auto property_of(Function function) {
  return boost::make_function_property_map<Key>(std::move(function));
}

}  // namespace

std::string write_dot(const OpGraph& graph) {
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

std::string write_graphml(const OpGraph& graph) {
  boost::dynamic_properties properties;
  const auto text = [&](const char* name, std::string Op::*member) {
    properties.property(name, property_of<Vertex>([&graph, member](Vertex op) {
                          return without_control_characters(graph[op].*member);
                        }));
  };
  text("name", &Op::name);
  text("kind", &Op::kind);
  text("scope", &Op::scope);
  properties.property("phase", property_of<Vertex>([&graph](Vertex op) {
                        return std::string(to_string(graph[op].phase));
                      }));
  properties.property("flops",
                      property_of<Vertex>([&graph](Vertex op) { return graph[op].flops; }));
  properties.property(
      "bytes", property_of<Edge>([&graph](const Edge& edge) { return bytes_on(graph, edge); }));
  properties.property("output",
                      property_of<Edge>([&graph](const Edge& edge) { return graph[edge].output; }));
  std::ostringstream out;
  boost::write_graphml(out, graph, properties, true);
  return std::move(out).str();
}

}  // namespace emplace

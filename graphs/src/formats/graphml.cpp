// GraphML: each node with name, kind, phase, scope and flops, each edge with bytes and output (-1
// for a control edge).

#include <emplace/graphs/graph_format.hpp>

#include <boost/graph/graphml.hpp>
#include <boost/property_map/dynamic_property_map.hpp>
#include <boost/property_map/function_property_map.hpp>

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

std::string write(const OpGraph& graph, const Params&) {
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

const FormatRegistration kRegistration(
    {.name = "graphml",
     .summary = "XML of graph tools: networkx, yEd, Gephi, igraph",
     .reference = "graphml.graphdrawing.org",
     .endings = {".graphml"},
     .write = write});

}  // namespace
}  // namespace emplace

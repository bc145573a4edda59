// Graphviz' DOT language, https://graphviz.org/doc/info/lang.html, and what we and SimGrid put into
// its attributes.
//
// We write every member of an op as an attribute of its node, and op_shape for its shape, because
// to Graphviz `shape` is the shape of a box. Labels show name and kind, and the bytes along an
// edge; control edges are dashed. SimGrid's convention is read too: `size` is the FLOPs of a node
// and the bytes of an edge. Characters that XML forbids become U+FFFD, since Graphviz writes SVG.
//
// Boost.Graph's reader sorts nodes by their names and knows no lines, so this one is our own; the
// tests compare the two. Not read: undirected graphs, which order nothing.

#include "../attributed_graph.hpp"
#include "../dot_parser.hpp"
#include "../text_cursor.hpp"

#include <emplace/graphs/graph_format.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

namespace emplace {
namespace {

// Escapes text for a quoted label. Boost's own escape_dot_string leaves backslashes and DOT's
// keywords alone, so that an op called `graph` or `a\` would break the file.
std::string dot_text(std::string_view text) {
  std::string escaped = "\"";
  for (const char letter : without_forbidden_characters(text)) {
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
  return escaped + '"';
}

nlohmann::json merged(const TextAttributes& defaults, const TextAttributes& own) {
  TextAttributes all = defaults;
  all.insert(all.end(), own.begin(), own.end());
  return from_text(all);
}

// Gives `size` the name that it has among our attributes, unless there is one of that name. SimGrid
// has fractions of a FLOP and of a byte; what is too large for a whole number its reader refuses.
void rename_size(nlohmann::json& attributes, const std::string& name) {
  constexpr double kMax = 9.2e18;
  const auto size = attributes.find("size");
  if (size == attributes.end() || attributes.contains(name)) {
    return;
  }
  const bool is_fraction = size->is_number_float() && std::abs(size->get<double>()) < kMax;
  attributes[name] = is_fraction ? nlohmann::json(std::llround(size->get<double>())) : *size;
}

// Returns the members of an op.
nlohmann::json op_members(const DotNode& node) {
  nlohmann::json members = merged(*node.defaults, node.attributes);
  members.erase("shape");
  if (const auto shape = members.find("op_shape"); shape != members.end()) {
    members["shape"] = *shape;
  }
  rename_size(members, "flops");
  return members;
}

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  const DotGraph parsed = parse_dot(text, source);
  AttributedGraphReader reader(params);
  for (const DotNode& node : parsed.nodes) {
    const std::string place = place_of(source, node.line);
    const nlohmann::json members = op_members(node);
    reader.add_node(node.id, node.name, {members, place, ""});
  }
  for (const DotEdge& edge : parsed.edges) {
    const std::string place = place_of(source, edge.line);
    nlohmann::json attributes = merged(*edge.defaults, *edge.attributes);
    rename_size(attributes, params.get<std::string>("bytes"));
    reader.add_edge(parsed.nodes[edge.source].id, parsed.nodes[edge.target].id,
                    {attributes, place, ""});
  }
  const nlohmann::json attributes = from_text(parsed.attributes);
  return std::move(reader).finish({attributes, source, ""});
}

// Returns attributes in brackets; `first` are some more.
std::string bracketed(std::string first, const TextAttributes& attributes) {
  for (const auto& [name, value] : attributes) {
    first += fmt::format("{}{}={}", first.empty() ? "" : ", ", name == "shape" ? "op_shape" : name,
                         dot_text(value));
  }
  return fmt::format(" [{}];\n", first);
}

std::string write(const OpGraph& graph, const Params&) {
  std::string text = "digraph G {\ngraph" +
                     bracketed("", text_attributes(graph[boost::graph_bundle])) +
                     "node [shape=box];\n";
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const std::string label = dot_text(graph[op].name + '\n' + graph[op].kind);
    text += fmt::to_string(op) + bracketed("label=" + label, text_attributes(graph[op]));
  }
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    const TextAttributes attributes = text_attributes(graph, edge);
    const bool is_control = graph[edge].output == Dependency::kControl;
    fmt::format_to(std::back_inserter(text), "{}->{}{}", boost::source(edge, graph),
                   boost::target(edge, graph),
                   bracketed(is_control ? "style=dashed"
                                        : fmt::format("label=\"{} B\"", attributes.back().second),
                             attributes));
  }
  return text + "}\n";
}

// Looks for the keyword behind comments, which programs put first.
bool recognizes(const FileContent& file) {
  constexpr std::size_t kFarEnough = 4096;
  const std::string_view text = file.bytes.substr(0, kFarEnough);
  const std::size_t brace = text.find('{');
  return brace != std::string_view::npos &&
         text.substr(0, brace).find("digraph") != std::string_view::npos;
}

const FormatRegistration kRegistration({.name = "dot",
                                        .summary = "Graphviz, to look at; loses nothing; SimGrid's",
                                        .reference = "graphviz.org/doc/info/lang.html",
                                        .endings = {".dot", ".gv"},
                                        .read_parameters = attribute_parameters("dot"),
                                        .recognizes = recognizes,
                                        .read = read,
                                        .write = write});

}  // namespace
}  // namespace emplace

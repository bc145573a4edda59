// Graphviz' DOT language, https://graphviz.org/doc/info/lang.html, and what we and SimGrid put into
// its attributes.
//
// We write every member of an op as an attribute of its node, but op_shape for its shape, because
// to Graphviz `shape` is the shape of a box, and op_name and graph_name for names, because pydot
// takes attributes as arguments and has one that is called name. Labels show name and kind, and the
// bytes along an edge; control edges are dashed. SimGrid's convention is read too: `size` is the
// FLOPs of a node and the bytes of an edge, where 0 and less only orders. Characters that XML
// forbids become U+FFFD, since Graphviz writes SVG.
//
// Boost.Graph's reader sorts nodes by their names and knows no lines, so this one is our own; the
// tests compare the two. Not read: undirected graphs, which order nothing.

#include "attributed_graph.hpp"
#include "dot_parser.hpp"
#include "formats/text_cursor.hpp"

#include <emplace/base/escape.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace emplace::dot_format {
namespace {

// Boost's own escape_dot_string leaves backslashes and DOT's keywords alone, so that an op called
// `graph` or `a\` would break the file.
std::string dot_text(std::string_view text) { return '"' + escape_dot(text) + '"'; }

nlohmann::json merged(const TextAttributes& defaults, const TextAttributes& own) {
  TextAttributes all = defaults;
  all.insert(all.end(), own.begin(), own.end());
  return from_text(all);
}

// Our members that have another name here, and that name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOpNames = {
    {{"name", "op_name"}, {"shape", "op_shape"}}};
constexpr std::string_view kGraphName = "graph_name";

std::string_view written_name(std::string_view member) {
  for (const auto& [ours, written] : kOpNames) {
    if (ours == member) {
      return written;
    }
  }
  return member;
}

// Makes SimGrid's `size` a whole number of at least 0: it has fractions of a FLOP and of a byte,
// and -1 for none. What is too large, or no number, the reader refuses.
void round_size(nlohmann::json& attributes) {
  constexpr double kMax = 9.2e18;
  const auto size = attributes.find("size");
  if (size != attributes.end() && size->is_number() && std::abs(size->get<double>()) < kMax) {
    *size = std::max<std::int64_t>(0, std::llround(size->get<double>()));
  }
}

// Returns how the members of a node are called.
MemberNames names_of(const nlohmann::json& attributes) {
  MemberNames names(kOpNames.begin(), kOpNames.end());
  if (!attributes.contains("op_name")) {
    names.erase("name");
  }
  if (attributes.contains("size") && !attributes.contains("flops")) {
    names.emplace("flops", "size");
  }
  return names;
}

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  const DotGraph parsed = parse_dot(text, source);
  AttributedGraphReader reader(params);
  for (const DotNode& node : parsed.nodes) {
    const std::string place = place_of(source, node.line);
    nlohmann::json members = merged(*node.defaults, node.attributes);
    round_size(members);
    reader.add_node(node.id, node.name, {members, place, ""}, names_of(members));
  }
  for (const DotEdge& edge : parsed.edges) {
    const std::string place = place_of(source, edge.line);
    nlohmann::json attributes = merged(*edge.defaults, *edge.attributes);
    round_size(attributes);
    const bool is_simgrid = !attributes.contains(params.get<std::string>("bytes"));
    reader.add_edge(parsed.nodes[edge.source].id, parsed.nodes[edge.target].id,
                    {attributes, place, ""},
                    is_simgrid ? MemberNames{{"bytes", "size"}} : MemberNames{});
  }
  const nlohmann::json attributes = from_text(parsed.attributes);
  const bool is_named = attributes.contains(kGraphName);
  return std::move(reader).finish({attributes, source, ""},
                                  is_named ? MemberNames{{"name", kGraphName}} : MemberNames{});
}

// Returns attributes in brackets; `first` are some more.
std::string bracketed(std::string first, const TextAttributes& attributes) {
  for (const auto& [name, value] : attributes) {
    first += fmt::format("{}{}={}", first.empty() ? "" : ", ", written_name(name), dot_text(value));
  }
  return fmt::format(" [{}];\n", first);
}

std::string write(const OpGraph& graph, const Params&) {
  const GraphInfo& info = graph[boost::graph_bundle];
  std::string text =
      "digraph G {\ngraph" +
      bracketed("", {{std::string(kGraphName), info.name}, {"source", info.source}}) +
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

const FormatRegistration kRegistration(
    {.name = "dot",
     .summary = "Graphviz, to look at, and SimGrid's; loses nothing",
     .reference = "graphviz.org/doc/info/lang.html",
     .endings = {".dot", ".gv"},
     .read_parameters = attribute_parameters("dot"),
     .recognizes = recognizes,
     .read = read,
     .write = write});

}  // namespace
}  // namespace emplace::dot_format

// networkx' node-link JSON: {"directed": true, "multigraph": true, "graph": {attributes},
// "nodes": [{"id": ..., attributes}], "links": [{"source": id, "target": id, attributes}]}.
// networkx 3.4 began to call the links "edges"; both are read. Ids are texts or whole numbers, 1
// and "1" being two ids; we write the op's name. The keys of parallel edges are written, because
// networkx asks for them, and not read.

#include "attributed_graph.hpp"
#include "model/op_json.hpp"

#include <emplace/base/json.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace emplace::node_link_format {
namespace {

// Returns the id as JSON writes it, so that 1 and "1" differ.
std::string read_id(const JsonCursor& id) {
  if (id.is_text()) {
    return json_text(id.text());
  }
  if (!id.is_integer()) {
    id.fail("expected a text or a whole number");
  }
  return fmt::to_string(id.integer());
}

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  if (const auto directed = root.find("directed"); directed && !directed->boolean()) {
    directed->fail("expected true: in an undirected graph no op comes before another");
  }
  AttributedGraphReader reader(params);
  const JsonCursor nodes = root.at("nodes");
  for (const JsonCursor& node : nodes.elements()) {
    const JsonCursor id = node.at("id");
    reader.add_node(read_id(id), id.is_text() ? id.text() : read_id(id), node);
  }
  if (nodes.elements().empty()) {
    nodes.fail("expected at least one node");
  }
  const auto links = root.find("links");
  for (const JsonCursor& link : (links ? *links : root.at("edges")).elements()) {
    reader.add_edge(read_id(link.at("source")), read_id(link.at("target")), link);
  }
  const auto attributes = root.find("graph");
  return std::move(reader).finish(attributes ? *attributes : root);
}

std::string write(const OpGraph& graph, const Params& params) {
  const GraphInfo& info = graph[boost::graph_bundle];
  std::string text = fmt::format(
      "{{\"directed\": true, \"multigraph\": true,\n"
      " \"graph\": {{\"name\": {}, \"source\": {}}},\n \"nodes\": [",
      json_text(info.name), json_text(info.source));
  const char* separator = "\n";
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    text += separator;
    separator = ",\n";
    const std::size_t begin = text.size();
    write_op(text, graph[op]);
    // The first member is the name; here it is the id.
    constexpr std::string_view kName = "{\"name\"";
    text.replace(begin, kName.size(), "{\"id\"");
  }
  text += fmt::format("\n],\n \"{}\": [", params.get<std::string>("edges"));
  separator = "\n";
  std::map<std::pair<std::size_t, std::size_t>, int> num_parallel;
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    const std::size_t producer = boost::source(edge, graph);
    const std::size_t consumer = boost::target(edge, graph);
    fmt::format_to(std::back_inserter(text), "{}{{\"source\": {}, \"target\": {}, \"key\": {}",
                   separator, json_text(graph[producer].name), json_text(graph[consumer].name),
                   num_parallel[{producer, consumer}]++);
    for (const auto& [name, value] : text_attributes(graph, edge)) {
      fmt::format_to(std::back_inserter(text), ", \"{}\": {}", name, value);
    }
    text += '}';
    separator = ",\n";
  }
  return text + "\n]}\n";
}

const FormatRegistration kRegistration(
    {.name = "node-link",
     .summary = "networkx' node-link JSON; loses nothing",
     .reference = "networkx.org: readwrite.json_graph.node_link_data",
     .read_parameters = attribute_parameters("node-link"),
     .write_parameters = {{.name = "edges",
                           .default_value = "links",
                           .choices = {"links", "edges"},
                           .summary = "what the edges are called; edges since networkx 3.4"}},
     .recognizes =
         [](const FileContent& file) {
           return file.has("nodes") && (file.has("links") || file.has("directed"));
         },
     .read = read,
     .write = write});

}  // namespace
}  // namespace emplace::node_link_format

#include "op_json.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <iterator>
#include <unordered_map>
#include <variant>
#include <vector>

namespace emplace {
namespace {

constexpr std::string_view kSchema = "emplace-graph";
constexpr std::int64_t kVersion = 2;  // 1 had no attributes of ops

void read_ops(const JsonCursor& list, OpGraph& graph) {
  std::unordered_map<std::string, OpId> id_of;
  for (const JsonCursor& object : list.elements()) {
    Op op = read_op(object);
    const auto [other, is_new] = id_of.emplace(op.name, num_ops(graph));
    if (!is_new) {
      object.at("name").fail(fmt::format("/ops/{} already has this name", other->second));
    }
    boost::add_vertex(std::move(op), graph);
  }
  if (num_ops(graph) == 0) {
    list.fail("expected at least one op");
  }
}

void read_edges(const JsonCursor& list, OpGraph& graph) {
  const std::int64_t last_op = num_ops(graph) - 1;
  for (const JsonCursor& edge : list.elements()) {
    const std::vector<JsonCursor> ends = edge.elements();
    if (ends.size() != 3) {
      edge.fail(fmt::format("expected [producer, output, consumer], found {} values", ends.size()));
    }
    const auto producer = static_cast<OpId>(ends[0].integer(0, last_op));
    const auto consumer = static_cast<OpId>(ends[2].integer(0, last_op));
    const auto num_outputs = std::ssize(graph[index_of(producer)].outputs);
    const std::int64_t output = ends[1].integer(Dependency::kControl, num_outputs - 1);
    add_dependency(graph, producer, static_cast<std::int32_t>(output), consumer);
  }
}

// Files of version 1 do not say which sides of a product are stored transposed; shapes do, but
// where they are equal.
void find_transposed(OpGraph& graph) {
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    auto* attributes = std::get_if<GemmAttributes>(&graph[op].attributes);
    std::vector<const Output*> inputs;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(op, graph))) {
      if (graph[edge].output != Dependency::kControl) {
        inputs.push_back(&graph[boost::source(edge, graph)].outputs[index_of(graph[edge].output)]);
      }
    }
    const auto& key = graph[op].shape;
    if (attributes == nullptr || inputs.size() != 2 || key.size() < 3) {
      continue;
    }
    const auto ends_in = [](const Output& side, std::int64_t columns) {
      return !side.shape.empty() && side.shape.back() == columns;
    };
    attributes->trans_a = !ends_in(*inputs[0], key.back());
    attributes->trans_b = !ends_in(*inputs[1], key[key.size() - 2]);
  }
}

}  // namespace

std::string write_graph_json(const OpGraph& graph) {
  const GraphInfo& info = graph[boost::graph_bundle];
  std::string text =
      fmt::format("{{\"schema\": \"{}\", \"version\": {}, \"name\": {}, \"source\": {},\n", kSchema,
                  kVersion, json_text(info.name), json_text(info.source));
  text += " \"ops\": [";
  for (OpId op = 0; op < num_ops(graph); ++op) {
    text += op == 0 ? "\n" : ",\n";
    write_op(text, graph[index_of(op)]);
  }
  text += "\n],\n \"edges\": [";
  bool is_first = true;
  const auto [begin, end] = boost::edges(graph);
  for (auto edge = begin; edge != end; ++edge) {
    fmt::format_to(std::back_inserter(text), "{}\n[{}, {}, {}]", is_first ? "" : ",",
                   boost::source(*edge, graph), graph[*edge].output, boost::target(*edge, graph));
    is_first = false;
  }
  return text + "\n]}\n";
}

OpGraph read_graph_json(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  root.expect_schema(kSchema, kVersion);
  root.expect_only({"schema", "version", "name", "source", "ops", "edges"});
  OpGraph graph;
  graph[boost::graph_bundle] = {.name = read_text(root, "name"),
                                .source = read_text(root, "source")};
  read_ops(root.at("ops"), graph);
  read_edges(root.at("edges"), graph);
  if (root.at("version").integer(1) < 2) {
    find_transposed(graph);
  }
  validate(graph, source);
  return graph;
}

}  // namespace emplace

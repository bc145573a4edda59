#include "support/graphs.hpp"

#include <emplace/graphs/catalog.hpp>

#include <boost/range/iterator_range.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace emplace::test {
namespace {

void expect_equal_ops(const Op& a, const Op& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.bytes_read, b.bytes_read);
  EXPECT_EQ(a.bytes_written, b.bytes_written);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.persistent_bytes, b.persistent_bytes);
  EXPECT_EQ(a.workspace_bytes, b.workspace_bytes);
  EXPECT_EQ(a.colocation, b.colocation);
  EXPECT_EQ(a.scope, b.scope);
  EXPECT_EQ(a.micro_batch, b.micro_batch);
  EXPECT_EQ(a.replica, b.replica);
  EXPECT_EQ(a.priority, b.priority);
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    EXPECT_EQ(a.outputs[i].shape, b.outputs[i].shape);
    EXPECT_EQ(a.outputs[i].type, b.outputs[i].type);
    EXPECT_EQ(a.outputs[i].bytes, b.outputs[i].bytes);
    EXPECT_EQ(a.outputs[i].persistent, b.outputs[i].persistent);
  }
  ASSERT_EQ(a.measured.size(), b.measured.size());
  for (std::size_t i = 0; i < a.measured.size(); ++i) {
    EXPECT_EQ(a.measured[i].device_class, b.measured[i].device_class);
    EXPECT_EQ(a.measured[i].cost_us, b.measured[i].cost_us);
    EXPECT_EQ(a.measured[i].relative_deviation, b.measured[i].relative_deviation);
  }
}

using Edge = std::array<std::int64_t, 3>;

// All edges as they stand at their consumers, at their producers and in the graph.
std::vector<Edge> edge_lists(const OpGraph& graph) {
  std::vector<Edge> lists;
  const auto append = [&](auto range) {
    for (auto edge = range.first; edge != range.second; ++edge) {
      lists.push_back({static_cast<std::int64_t>(boost::source(*edge, graph)), graph[*edge].output,
                       static_cast<std::int64_t>(boost::target(*edge, graph))});
    }
  };
  for (std::size_t i = 0; i < boost::num_vertices(graph); ++i) {
    append(boost::in_edges(i, graph));
    append(boost::out_edges(i, graph));
  }
  append(boost::edges(graph));
  return lists;
}

}  // namespace

OpId op_named(const OpGraph& graph, std::string_view name) {
  for (OpId op = 0; op < num_ops(graph); ++op) {
    if (graph[static_cast<std::size_t>(op)].name == name) {
      return op;
    }
  }
  ADD_FAILURE() << "no op is called " << name;
  return 0;
}

namespace {

auto edges_into(const OpGraph& graph, std::string_view name) {
  return boost::make_iterator_range(
      boost::in_edges(static_cast<std::size_t>(op_named(graph, name)), graph));
}

}  // namespace

const Op& find(const OpGraph& graph, std::string_view name) {
  return graph[static_cast<std::size_t>(op_named(graph, name))];
}

std::vector<std::string> producers_of(const OpGraph& graph, std::string_view name) {
  std::vector<std::string> names;
  for (const auto edge : edges_into(graph, name)) {
    names.push_back(graph[boost::source(edge, graph)].name);
  }
  return names;
}

std::vector<std::string> inputs_of(const OpGraph& graph, std::string_view name) {
  std::vector<std::string> inputs = producers_of(graph, name);
  std::size_t at = 0;
  for (const auto edge : edges_into(graph, name)) {
    inputs[at++] += ":" + std::to_string(graph[edge].output);
  }
  return inputs;
}

std::map<std::string, int> count_kinds(const OpGraph& graph) {
  std::map<std::string, int> counts;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    ++counts[graph[op].kind];
  }
  return counts;
}

std::set<std::string> scopes_of(const OpGraph& graph) {
  std::set<std::string> scopes;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    scopes.insert(graph[op].scope);
  }
  return scopes;
}

std::int64_t flops_of(const OpGraph& graph, std::initializer_list<std::string_view> kinds) {
  std::int64_t flops = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    flops += std::ranges::count(kinds, graph[op].kind) > 0 ? graph[op].flops : 0;
  }
  return flops;
}

std::vector<std::string> models_with(std::string_view parameter) {
  std::vector<std::string> names;
  for (const std::string& name : GraphCatalog::global().names()) {
    const auto& parameters = GraphCatalog::global().find(name).parameters;
    if (std::ranges::find(parameters, parameter, &ParamSpec::name) != parameters.end()) {
      names.push_back(name);
    }
  }
  return names;
}

Op full_op() {
  return {.name = "mixed/conv \"1\" \\ grün\n",
          .kind = "conv2d",
          .phase = Phase::kBackward,
          .shape = {64, 3, 299, 299},
          .flops = std::numeric_limits<std::int64_t>::max() / 4,
          .bytes_read = 1,
          .bytes_written = 2,
          .outputs = {{.shape = {2, 3}, .type = DataType::kBfloat16, .bytes = 12},
                      {.shape = {}, .type = DataType::kFloat32, .bytes = 4, .persistent = true}},
          .parameters = 3,
          .persistent_bytes = 4,
          .workspace_bytes = 5,
          .colocation = "variable_1",
          .scope = "mixed_5b/branch_1",
          .micro_batch = 7,
          .replica = 8,
          .priority = 9,
          .measured = {{.device_class = "gpu", .cost_us = 0.1, .relative_deviation = 0.03},
                       {.device_class = "cpu", .cost_us = 1e300}}};
}

void expect_equal(const OpGraph& a, const OpGraph& b) {
  EXPECT_EQ(a[boost::graph_bundle].name, b[boost::graph_bundle].name);
  EXPECT_EQ(a[boost::graph_bundle].source, b[boost::graph_bundle].source);
  ASSERT_EQ(num_ops(a), num_ops(b));
  for (std::size_t i = 0; i < boost::num_vertices(a); ++i) {
    expect_equal_ops(a[i], b[i]);
  }
  EXPECT_EQ(edge_lists(a), edge_lists(b));
}

}  // namespace emplace::test

#include "every_kind.hpp"
#include "graph_on_device.hpp"

#include <emplace/calibrate/cpu_device.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace emplace::calibrate::cpu_coverage_test {
namespace {

bool is_made_by_library(const Op& op) {
  return op.kind.starts_with("conv2d") || op.kind.ends_with("matmul") ||
         op.kind.starts_with("lstm_cell");
}

// Libraries take long over each site, so of theirs one stands for all of its kind.
TEST(CpuDevice, RunsEveryKindOfOpThatGraphsHave) {
  const std::vector<int> core{usable_cores().front()};
  const auto device = make_cpu_device("cpu:0", core);
  std::set<std::string> kinds;
  for (const OpSite& site : distinct_sites(graphs_of_every_kind())) {
    const std::string& kind = site.op.kind;
    if (kind == "task" || (is_made_by_library(site.op) && kinds.contains(kind))) {
      continue;
    }
    const auto program = device->compile(site);
    ASSERT_NE(program, nullptr) << site.op.name << " of kind " << kind;
    EXPECT_EQ(program->library() == "emplace", !is_made_by_library(site.op)) << kind;
    kinds.insert(kind);
  }
  for (const OpKind& kind : op_kinds()) {
    if (kind.launches && kind.name != "task") {
      EXPECT_TRUE(kinds.contains(std::string(kind.name))) << kind.name;
    }
  }
}

TEST(CpuDevice, RunsEveryKindOfOpInBfloat16) {
  const std::vector<int> core{usable_cores().front()};
  const auto device = make_cpu_device("cpu:0", core);
  std::vector<OpGraph> graphs;
  for (const char* spec : {"gpt2-small:type=bfloat16", "llama-7b:type=bfloat16,training=false"}) {
    graphs.push_back(GraphCatalog::global().build(Spec::parse(spec)));
  }
  std::set<std::string> kinds;
  for (const OpSite& site : distinct_sites(graphs)) {
    if (kinds.insert(site.op.kind).second) {
      EXPECT_NE(device->compile(site), nullptr) << site.op.name << " of kind " << site.op.kind;
    }
  }
}

TEST(CpuDevice, SaysWhatItDoesNotRun) {
  const std::vector<int> core{usable_cores().front()};
  const auto device = make_cpu_device("cpu:0", core);
  const Output four{.shape = {4}, .bytes = 16};
  const auto compiles = [&](const char* kind, Output x, Output y) {
    return device->compile({.op = {.name = "y", .kind = kind, .shape = {4}, .outputs = {y}},
                            .inputs = {x}}) != nullptr;
  };
  EXPECT_TRUE(compiles("relu", four, four));
  EXPECT_FALSE(compiles("task", four, four));
  EXPECT_FALSE(compiles("fourier_transform", four, four));
  EXPECT_FALSE(compiles("relu", {.shape = {5}, .bytes = 20}, four));
  EXPECT_FALSE(compiles("relu", four, {.shape = {4}, .bytes = 12}));
  const Output halves{.shape = {4}, .type = DataType::kFloat16, .bytes = 8};
  EXPECT_FALSE(compiles("relu", halves, halves));
  EXPECT_FALSE(compiles("conv2d", four, four));
  EXPECT_FALSE(compiles("matmul", four, four));
  EXPECT_FALSE(compiles("lstm_cell_backward", four, four));
}

// Of sizes for which work is cut in many parts, and not evenly.
OpGraph own_kernels() {
  ModelBuilder net("own");
  Tensor x = net.batch_norm(net.input("x", {3, 5, 97, 101}));
  x = net.channel_bias_add(net.depthwise_conv2d(x, {.kernel = {3, 3}}));
  x = net.max_pool(x, {.kernel = 3, .stride = 2});
  x = net.layer_norm(net.flatten(x));
  x = net.concat(std::array{x, net.tanh(net.dropout(x))});
  const Tensor a = net.softmax_cross_entropy(x, net.input("labels", {3}, DataType::kInt32));
  Tensor rows =
      net.embedding(net.variable("table", {300, 70}), net.input("ids", {1000}, DataType::kInt32));
  rows = net.bias_add(net.rms_norm(rows), net.variable("bias", {70}));
  const Tensor b = net.mean_squared_error(rows, net.input("target", {1000, 70}));
  net.add_losses(std::array{a, b});
  return training_graph(std::move(net).finish(), find_optimizer("adam"));
}

// Numbers from -1 to 1 in float32, which are far out of range as ids.
void fill_all(GraphOnDevice& graph) {
  for (OpId op = 0; op < num_ops(graph.graph()); ++op) {
    const std::string& kind = graph.graph()[static_cast<std::size_t>(op)].kind;
    if (kind == "input" || kind == "variable") {
      float next = 0;
      for (float& number : graph.floats({op, 0})) {
        next += 0.754877666F;  // steps that never come back to the same place
        next -= next > 1 ? 2.0F : 0.0F;
        number = next;
      }
    }
  }
}

TEST(CpuDevice, ComputesTheSameBitsOnOneCoreAndOnTwo) {
  const std::vector<int> cores = usable_cores();
  if (cores.size() < 2) {
    GTEST_SKIP() << "this process may use one core only";
  }
  const auto one = make_cpu_device("cpu:0", std::span(cores).first(1));
  const auto two = make_cpu_device("cpu:1", std::span(cores).first(2));
  GraphOnDevice on_one(own_kernels(), *one);
  GraphOnDevice on_two(own_kernels(), *two);
  fill_all(on_one);
  fill_all(on_two);
  on_one.run();
  on_two.run();
  const OpGraph& graph = on_one.graph();
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const Op& made = graph[static_cast<std::size_t>(op)];
    for (std::int32_t i = 0; i < std::ssize(made.outputs); ++i) {
      EXPECT_TRUE(std::ranges::equal(on_one.bytes({op, i}), on_two.bytes({op, i})))
          << made.name << ":" << i;
    }
  }
}

}  // namespace
}  // namespace emplace::calibrate::cpu_coverage_test

#include "tests/support/source_path.hpp"

#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <graphs/wire_format.hpp>
#include <gtest/gtest.h>
#include <support/temporary_folder.hpp>

namespace emplace {
namespace {

using testing::HasSubstr;

#ifndef EMPLACE_WITH_PROTOBUF

TEST(TensorFlow, SaysHowToGetItWhereItIsNotBuiltIn) {
  EXPECT_THAT(error_of_reading("tensorflow", "").value(), HasSubstr("EMPLACE_WITH_PROTOBUF=ON"));
}

#else

using wire::number;
using wire::text;

std::string network() {
  return read_text_file(test::source_path("tests/graphs/data/tensorflow.pbtxt"));
}

const Op& op_named(const OpGraph& graph, std::string_view name) {
  std::size_t op = 0;
  while (graph[op].name != name) {
    ++op;
  }
  return graph[op];
}

// Edges as "producer:output consumer"; a control edge has output -1.
std::vector<std::string> edges_of(const OpGraph& graph) {
  std::vector<std::string> edges;
  const auto [begin, end] = boost::edges(graph);
  for (auto edge = begin; edge != end; ++edge) {
    edges.push_back(fmt::format("{}:{} {}", graph[boost::source(*edge, graph)].name,
                                graph[*edge].output, graph[boost::target(*edge, graph)].name));
  }
  return edges;
}

// Reads `graph` with the RunMetadata `run`.
OpGraph with_run(const std::string& graph, const std::string& run) {
  const TemporaryFolder folder;
  const std::string path = folder.path("run_metadata");
  write_text_file(path, run);
  return read_format("tensorflow:device-class=gpu,step-stats=" + path, graph);
}

TEST(TensorFlow, ReadsOpsShapesAndWork) {
  const OpGraph graph = read_format("tensorflow:unknown-dimension=32", network());
  ASSERT_EQ(num_ops(graph), 8);
  const Op& product = op_named(graph, "dense/MatMul");
  EXPECT_EQ(product.kind, "matmul");
  EXPECT_EQ(product.scope, "dense");
  EXPECT_EQ(product.shape, (std::vector<std::int64_t>{32, 6, 4}));
  EXPECT_EQ(product.flops, 2 * 32 * 6 * 4);
  EXPECT_EQ(product.bytes_read, 4 * (32 * 4 + 4 * 6));
  EXPECT_EQ(product.bytes_written, 4 * 32 * 6);
  EXPECT_EQ(op_named(graph, "dense/Relu").flops, 32 * 6);
  const Op& variable = op_named(graph, "dense/w");
  EXPECT_EQ(variable.kind, "variable");
  EXPECT_EQ(variable.parameters, 24);
  EXPECT_EQ(variable.persistent_bytes, 96);
  EXPECT_EQ(op_named(graph, "x").outputs[0].shape, (std::vector<std::int64_t>{32, 4}));
}

TEST(TensorFlow, ReadsEdgesOrderColocationAndPhases) {
  const OpGraph graph = read_format("tensorflow", network());
  const std::string gradient = "train/gradients/dense/Relu_grad/ReluGrad";
  EXPECT_EQ(edges_of(graph),
            (std::vector<std::string>{
                "dense/w:0 dense/w/read", "x:0 dense/MatMul", "dense/w/read:0 dense/MatMul",
                "dense/MatMul:0 dense/Relu", "init:-1 dense/Relu", "dense/Relu:0 " + gradient,
                "dense/Relu:0 " + gradient, "dense/w:0 train/Apply", gradient + ":0 train/Apply"}));
  EXPECT_EQ(op_named(graph, "dense/w").colocation, "dense/w");
  EXPECT_EQ(op_named(graph, "dense/w/read").colocation, "dense/w");
  EXPECT_EQ(op_named(graph, "train/Apply").colocation, "dense/w");
  EXPECT_EQ(op_named(graph, "dense/MatMul").colocation, "");
  EXPECT_EQ(op_named(graph, gradient).phase, Phase::kBackward);
  EXPECT_EQ(op_named(graph, "train/Apply").phase, Phase::kUpdate);
  EXPECT_EQ(op_named(graph, "dense/MatMul").phase, Phase::kForward);
}

TEST(TensorFlow, ReadsBinaryGraphsByTheNumbersOfFields) {
  const std::string shape = text(2, number(1, 3)) + text(2, number(1, 5));
  const auto attribute = [](const std::string& key, const std::string& value) {
    return text(5, text(1, key) + text(2, value));
  };
  const std::string graph_def =
      text(1, text(1, "a") + text(2, "Placeholder") + text(4, "/device:GPU:0") +
                  attribute("dtype", number(6, 19)) + attribute("shape", text(7, shape))) +
      text(1, text(1, "b") + text(2, "Relu") + text(3, "a") + text(3, "^a") +
                  attribute("T", number(6, 19)) +
                  attribute("_output_shapes", text(1, text(7, shape)))) +
      text(4, number(1, 1087));
  const OpGraph graph = read_format("tensorflow", graph_def);
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_EQ(graph[0].outputs[0].type, DataType::kFloat16);
  EXPECT_EQ(graph[0].outputs[0].bytes, 30);
  EXPECT_EQ(graph[1].kind, "relu");
  EXPECT_EQ(graph[1].flops, 15);
  EXPECT_EQ(edges_of(graph), (std::vector<std::string>{"a:0 b", "a:-1 b"}));
}

TEST(TensorFlow, JoinsAllThatAnOpIsColocatedWith) {
  const auto node = [](const std::string& name, const std::string& with) {
    return fmt::format(
        R"(node {{ name: "{}" op: "NoOp" attr {{ key: "_class" value {{ list {{ {} }} }} }} }})",
        name, with);
  };
  const OpGraph graph =
      read_format("tensorflow", node("a", "") + node("b", "") + node("c", "") +
                                    node("d", R"(s: "loc:@b" s: "loc:@c" s: "loc:@gone")"));
  EXPECT_EQ(graph[0].colocation, "");
  EXPECT_EQ(graph[1].colocation, "b");
  EXPECT_EQ(graph[2].colocation, "b");
  EXPECT_EQ(graph[3].colocation, "b");
}

// Launching the product took 9 us on the host, its kernel 4 us; relu ran on the CPU.
TEST(TensorFlow, TakesTimesAndSizesOfARun) {
  const auto record = [](const std::string& name, std::uint64_t begin, std::uint64_t end,
                         const std::string& more = "") {
    return text(2, text(1, name) + number(2, 1'700'000'000'000'000) + number(3, begin) +
                       number(4, end) + more);
  };
  const std::string output =
      text(7, number(1, 0) +
                  text(3, number(1, 1) + text(2, text(2, number(1, 7))) + text(4, number(1, 256))));
  const std::string run = text(
      1,
      text(1, text(1, "/job:a/device:GPU:0") + record("dense/MatMul", 1, 10, output)) +
          text(1, text(1, "/device:GPU:0/stream:all") + record("dense/MatMul:MatMul", 0, 4)) +
          text(1, text(1, "/device:GPU:0/stream:13") + record("dense/MatMul:MatMul", 0, 4)) +
          text(1, text(1, "/job:a/device:CPU:0") +
                      record("dense/Relu", 2, 5, text(12, number(1, 64))) + record("_SINK", 0, 1)));
  const OpGraph graph = with_run(network(), run);
  const Op& product = op_named(graph, "dense/MatMul");
  ASSERT_EQ(product.measured.size(), 1U);
  EXPECT_EQ(product.measured[0].device_class, "gpu");
  EXPECT_EQ(product.measured[0].cost_us, 4);
  EXPECT_EQ(product.outputs[0].bytes, 256);
  EXPECT_EQ(product.outputs[0].shape, (std::vector<std::int64_t>{7}));
  const Op& relu = op_named(graph, "dense/Relu");
  ASSERT_EQ(relu.measured.size(), 1U);
  EXPECT_EQ(relu.measured[0].device_class, "cpu");
  EXPECT_EQ(relu.measured[0].cost_us, 3);
  EXPECT_EQ(relu.workspace_bytes, 64);
  EXPECT_TRUE(op_named(graph, "x").measured.empty());
}

TEST(TensorFlow, TakesTimesOfACostGraphWhereNoStepWasTraced) {
  const OpGraph graph =
      with_run(network(), R"(cost_graph { node { name: "dense/MatMul" id: 3 compute_cost: 12 } })");
  EXPECT_EQ(op_named(graph, "dense/MatMul").measured[0].cost_us, 12);
}

TEST(TensorFlow, RefusesWhatItCannotRead) {
  const auto node = [](const std::string& members) { return "node { " + members + " }"; };
  const std::string a = node(R"(name: "a" op: "Add")");
  const auto with_shape = [&](const std::string& dimension) {
    return node(R"(name: "a" op: "Placeholder" attr { key: "shape" value { shape { dim { size: )" +
                dimension + R"( } dim { size: 9223372036854775807 } } } })");
  };
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {"", "expected at least one node"},
      {"node {\n name: 7\n}", "expected a message of type GraphDef; line 2, column 8"},
      {"\x0a\xff", "expected a message of type GraphDef"},
      {a + a, "node 'a': the name comes twice"},
      {node(R"(name: "a" input: "b")"), "node 'a': its input 'b' is no node of the file"},
      {a + node(R"(name: "b" input: "a:x")"), "expected an input 'name:number', found 'a:x'"},
      {a + node(R"(name: "b" input: "a:-1")"), "expected an input 'name:number', found 'a:-1'"},
      {a + node(R"(name: "b" input: "a:99999999")"), "expected an input 'name:number'"},
      {node(R"(name: "a" input: "b")") + node(R"(name: "b" input: "a")"), "a cycle of ops"},
      {node(R"(name: "a" op: "NextIteration")"), "node 'a': loops are not supported"},
      {with_shape("-2"), "node 'a': expected a dimension of at least -1, found -2"},
      {with_shape("2"), "node 'a': the size of a result does not fit 64 bits"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(error_of_reading("tensorflow", text).value_or("no error"), HasSubstr(message));
  }
}

#endif

}  // namespace
}  // namespace emplace

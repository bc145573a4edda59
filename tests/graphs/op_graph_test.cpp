#include "support/errors.hpp"

#include <emplace/graphs/op_graph.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace emplace::op_graph_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// Ops called a, b, c, ... with one output of 4 bytes, and data edges between them.
OpGraph graph_of(OpId num_ops, const std::vector<std::pair<OpId, OpId>>& edges) {
  OpGraph graph;
  for (OpId op = 0; op < num_ops; ++op) {
    boost::add_vertex({.name = std::string(1, static_cast<char>('a' + op)),
                       .kind = "relu",
                       .outputs = {{.shape = {1}, .bytes = 4}}},
                      graph);
  }
  for (const auto& [producer, consumer] : edges) {
    add_dependency(graph, producer, 0, consumer);
  }
  return graph;
}

std::string error_of(const OpGraph& graph) {
  return test::error_of([&] { validate(graph, "my.json"); });
}

TEST(OpGraph, AnOpsInputsKeepTheOrderInWhichTheyWereAdded) {
  const OpGraph graph = graph_of(3, {{1, 2}, {0, 2}, {1, 2}});
  std::vector<std::size_t> producers;
  for (auto [edge, end] = boost::in_edges(2, graph); edge != end; ++edge) {
    producers.push_back(boost::source(*edge, graph));
  }
  EXPECT_THAT(producers, ElementsAre(1, 0, 1));
}

TEST(TopologicalOrder, PrefersTheLeastIdAmongReadyOps) {
  EXPECT_THAT(topological_order(graph_of(3, {})), ElementsAre(0, 1, 2));
  // 4 -> 1 -> 0 and 3 -> 2: at first 3 and 4 are ready.
  EXPECT_THAT(topological_order(graph_of(5, {{4, 1}, {1, 0}, {3, 2}})), ElementsAre(3, 2, 4, 1, 0));
}

TEST(TopologicalOrder, NamesTheOpsOfACycleInTheDirectionOfItsEdges) {
  OpGraph graph = graph_of(5, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}});
  graph[boost::graph_bundle].name = "tiny";
  EXPECT_EQ(test::error_of([&] { topological_order(graph); }),
            "tiny: a cycle of ops: 'b' -> 'c' -> 'd' -> 'b'");
}

TEST(TopologicalOrder, NamesAtMostEightOpsOfALongCycle) {
  std::vector<std::pair<OpId, OpId>> ring;
  for (OpId op = 0; op < 20; ++op) {
    ring.emplace_back(op, (op + 1) % 20);
  }
  EXPECT_THAT(error_of(graph_of(20, ring)), AllOf(HasSubstr("'h' -> ... (20 ops in all)")));
}

TEST(Validate, AcceptsAGraphWithoutOpsAndAnOpWithoutEdges) {
  EXPECT_EQ(error_of(OpGraph()), "none");
  EXPECT_EQ(error_of(graph_of(1, {})), "none");
}

TEST(Validate, RefusesAnOpThatDependsOnItself) {
  EXPECT_EQ(error_of(graph_of(2, {{1, 1}})), "my.json: a cycle of ops: 'b' -> 'b'");
}

TEST(Validate, RefusesMissingAndRepeatedNames) {
  OpGraph graph = graph_of(3, {});
  graph[2].name = "a";
  EXPECT_EQ(error_of(graph), "my.json: two ops are called 'a'");
  graph[2].name = "";
  EXPECT_EQ(error_of(graph), "my.json: op 2 has no name");
}

TEST(Validate, RefusesTextThatIsNotUtf8) {
  OpGraph graph = graph_of(1, {});
  graph[0].name = "caf\xe9";
  EXPECT_THAT(error_of(graph), HasSubstr("expected a name in UTF-8, found 'caf\\xe9'"));
  graph[0].name = "caf\xc3\xa9";
  EXPECT_EQ(error_of(graph), "none");
  graph[0].scope = "\xff";
  EXPECT_THAT(error_of(graph), HasSubstr("expected a scope in UTF-8"));
}

TEST(Validate, RefusesAnOutputThatTheProducerDoesNotHave) {
  OpGraph graph = graph_of(2, {});
  add_dependency(graph, 0, 1, 1);
  EXPECT_THAT(error_of(graph), HasSubstr("from op 'a' to op 'b' takes output 1"));
  graph = graph_of(2, {});
  add_dependency(graph, 0, -2, 1);
  EXPECT_THAT(error_of(graph), HasSubstr("takes output -2"));
  graph = graph_of(2, {});
  add_dependency(graph, 0, Dependency::kControl, 1);
  EXPECT_EQ(error_of(graph), "none");
}

// Each entry spoils one field of op 'b'.
TEST(Validate, RefusesQuantitiesThatMakeNoSense) {
  const std::vector<std::pair<void (*)(Op&), std::string>> cases = {
      {[](Op& op) { op.flops = -1; }, "flops"},
      {[](Op& op) { op.bytes_read = -1; }, "bytes_read"},
      {[](Op& op) { op.bytes_written = -1; }, "bytes_written"},
      {[](Op& op) { op.parameters = -1; }, "parameters"},
      {[](Op& op) { op.persistent_bytes = -1; }, "persistent_bytes"},
      {[](Op& op) { op.workspace_bytes = -1; }, "workspace_bytes"},
      {[](Op& op) {
         op.shape = {3, -1};
       },
       "shape"},
      {[](Op& op) { op.outputs[0].bytes = -1; }, "bytes of an output"},
      {[](Op& op) { op.outputs[0].shape = {-1}; }, "shape of an output"},
      {[](Op& op) {
         op.measured = {{"gpu", -1}};
       },
       "measured cost"},
      {[](Op& op) {
         op.measured = {{"gpu", std::nan("")}};
       },
       "measured cost"},
      {[](Op& op) {
         op.measured = {{"gpu", HUGE_VAL}};
       },
       "measured cost"},
      {[](Op& op) {
         op.measured = {{"gpu", 1, -0.1}};
       },
       "relative deviation of a measured cost from 0 to 1, found -0.1"},
      {[](Op& op) {
         op.measured = {{"gpu", 1, 1.5}};
       },
       "relative deviation of a measured cost"},
      {[](Op& op) {
         op.measured = {{"gpu", 1, std::nan("")}};
       },
       "relative deviation of a measured cost"},
      {[](Op& op) {
         op.measured = {{"", 1}};
       },
       "no device class"},
      {[](Op& op) {
         op.measured = {{"gpu", 1}, {"gpu", 2}};
       },
       "device class 'gpu'"},
  };
  for (const auto& [spoil, expected] : cases) {
    OpGraph graph = graph_of(3, {});
    spoil(graph[1]);
    EXPECT_THAT(error_of(graph), AllOf(StartsWith("my.json: op 'b': "), HasSubstr(expected)));
  }
}

TEST(Validate, RefusesSumsThatDoNotFit64Bits) {
  OpGraph graph = graph_of(2, {});
  graph[0].flops = kHuge;
  EXPECT_EQ(error_of(graph), "none");
  graph[1].flops = 1;
  EXPECT_EQ(error_of(graph), "my.json: the sum of FLOPs over all ops does not fit 64 bits");

  // A tensor counts once where it is made and once for each use.
  graph = graph_of(2, {{0, 1}});
  graph[0].outputs[0].bytes = kHuge / 2;
  graph[1].outputs[0].bytes = 0;
  EXPECT_EQ(error_of(graph), "none");
  add_dependency(graph, 0, 0, 1);
  EXPECT_EQ(error_of(graph), "my.json: the sum of bytes over all ops does not fit 64 bits");

  graph = graph_of(2, {});
  graph[0].measured = {{"gpu", 1e308}};
  graph[1].measured = {{"gpu", 1e308}};
  EXPECT_EQ(error_of(graph), "my.json: the sum of measured costs over all ops is not finite");
}

TEST(Totals, AddUpAllOps) {
  OpGraph graph = graph_of(2, {});
  graph[0].flops = 10;
  graph[1].flops = 5;
  graph[1].parameters = 3;
  graph[1].persistent_bytes = 20;
  graph[1].outputs = {{.shape = {3}, .bytes = 12, .persistent = true}};
  const GraphTotals sum = totals(graph);
  EXPECT_EQ(sum.flops, 15);
  EXPECT_EQ(sum.parameters, 3);
  EXPECT_EQ(sum.parameter_bytes, 12);
  EXPECT_EQ(sum.persistent_bytes, 20);
}

TEST(DataType, HasASizeAndAName) {
  EXPECT_EQ(size_of(DataType::kFloat32), 4);
  EXPECT_EQ(size_of(DataType::kBfloat16), 2);
  EXPECT_EQ(size_of(DataType::kInt64), 8);
  EXPECT_EQ(size_of(DataType::kBool), 1);
  EXPECT_EQ(to_string(DataType::kFloat16), "float16");
  EXPECT_EQ(to_string(Phase::kUpdate), "update");
}

}  // namespace
}  // namespace emplace::op_graph_test

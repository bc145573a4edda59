#include <emplace/graphs/graph_format.hpp>

#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <graphs/wire_format.hpp>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <algorithm>
#include <tuple>

namespace emplace::chakra_test {
namespace {

using testing::HasSubstr;
using wire::message;
using wire::number;
using wire::text;
using wire::varint;

std::string write_chakra(const OpGraph& graph, const std::string& parameters = "") {
  return GraphFormats::global().write(Spec::parse("chakra" + parameters), graph);
}

// Edges as (producer, output, consumer), sorted.
std::vector<std::tuple<OpId, int, OpId>> edges_of(const OpGraph& graph) {
  std::vector<std::tuple<OpId, int, OpId>> edges;
  const auto [begin, end] = boost::edges(graph);
  for (auto edge = begin; edge != end; ++edge) {
    edges.emplace_back(static_cast<OpId>(boost::source(*edge, graph)), graph[*edge].output,
                       static_cast<OpId>(boost::target(*edge, graph)));
  }
  std::ranges::sort(edges);
  return edges;
}

TEST(Chakra, ReadsTheJsonOfTheFeeder) {
  const std::string text = R"({"workload_graph": [
    {"Id": 7, "Name": "gemm", "NodeType": 4, "is_cpu_op": false, "runtime": 5, "num_ops": 100,
     "tensor_size": 64, "data_deps": []},
    {"Id": 9, "Name": "sum", "NodeType": 7, "is_cpu_op": 0, "data_deps": [7], "comm_type": 0,
     "comm_size": 1024, "comm_priority": 1}]})";
  const OpGraph graph = read_format("chakra:device-class=gpu-v100", text);
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_EQ(graph[0].name, "gemm");
  EXPECT_EQ(graph[0].kind, "comp");
  EXPECT_EQ(graph[0].flops, 100);
  EXPECT_EQ(graph[0].bytes_read, 64);
  ASSERT_EQ(graph[0].measured.size(), 1U);
  EXPECT_EQ(graph[0].measured[0].device_class, "gpu-v100");
  EXPECT_EQ(graph[0].measured[0].cost_us, 5);
  EXPECT_EQ(graph[1].kind, "all_reduce");
  EXPECT_EQ(graph[1].bytes_written, 1024);
  EXPECT_TRUE(graph[1].measured.empty());  // a runtime of 0 was not measured
  EXPECT_EQ(edges_of(graph), (std::vector<std::tuple<OpId, int, OpId>>{{0, -1, 1}}));
}

TEST(Chakra, DropsDependenciesOnNodesThatAreMissingAndSaysSo) {
  const OpGraph graph = read_format("chakra", R"({"workload_graph": [
    {"Id": 1, "NodeType": 4, "data_deps": [99, 5]},
    {"Id": 2, "NodeType": 4, "data_deps": [1, 99]}]})");
  EXPECT_EQ(boost::num_edges(graph), 1U);
  EXPECT_EQ(graph[0].name, "node#1");
  EXPECT_EQ(graph[boost::graph_bundle].source,
            "Chakra ET; without the dependencies on 2 nodes that are missing in the file: 5, 99");
}

TEST(Chakra, DropsDependenciesOfNodesOnThemselvesAndSaysSo) {
  const OpGraph graph = read_format("chakra", R"({"workload_graph": [
    {"Id": 1, "NodeType": 4, "data_deps": [1]},
    {"Id": 2, "NodeType": 4, "data_deps": [1, 2]}]})");
  EXPECT_EQ(boost::num_edges(graph), 1U);
  EXPECT_EQ(graph[boost::graph_bundle].source,
            "Chakra ET; without 2 dependencies of nodes on themselves");
}

TEST(Chakra, GivesNoTwoNodesOneName) {
  const OpGraph graph = read_format("chakra", R"({"workload_graph": [
    {"Id": 5, "NodeType": 4, "Name": "a#7"}, {"Id": 6, "NodeType": 4, "Name": "a"},
    {"Id": 7, "NodeType": 4, "Name": "a"}]})");
  EXPECT_EQ(graph[0].name, "a#7");
  EXPECT_EQ(graph[2].name, "a#7_");
}

TEST(Chakra, TakesNamesOfKernelsForNoOperators) {
  const std::string kernel = "void at::native::reduce_kernel<512, 1>(at::native::ReduceOp)";
  const OpGraph graph = read_format("chakra", R"({"workload_graph": [
    {"Id": 1, "NodeType": 4, "Name": "aten::mm"}, {"Id": 2, "NodeType": 4, "Name": ")" +
                                                  kernel + R"("}]})");
  EXPECT_EQ(graph[0].kind, "matmul");
  EXPECT_EQ(graph[1].kind, "comp");
  EXPECT_EQ(graph[1].name, kernel);
}

TEST(Chakra, RefusesWhatIsNoTrace) {
  const auto node = [](const std::string& members) {
    return R"({"workload_graph": [{"Id": 1, "NodeType": 4, )" + members + "}]}";
  };
  const Mistakes mistakes = {
      {R"({"workload_graph": []})", "expected at least one node"},
      {node(R"("num_ops": -1)"),
       "/workload_graph/0/num_ops: expected a whole number of at least 0"},
      {node(R"("runtime": 1e300)"), "/workload_graph/0/runtime: expected a whole number"},
      {R"({"workload_graph": [{"Id": 1, "NodeType": 9}]})", "/NodeType: expected a whole number"},
      {R"({"workload_graph": [{"Id": 1, "NodeType": 4}, {"Id": 1, "NodeType": 4}]})",
       "node 1: the id appears twice"},
      {R"({"workload_graph": [{"Id": 1, "NodeType": 4, "data_deps": [2]},
                              {"Id": 2, "NodeType": 4, "data_deps": [1]}]})",
       "a cycle of ops"},
  };
  expect_errors("chakra", mistakes);
}

#ifndef EMPLACE_WITH_PROTOBUF

TEST(Chakra, SaysHowToGetMessagesWhereTheyAreNotBuiltIn) {
  EXPECT_THAT(error_of_reading("chakra", ""), HasSubstr("EMPLACE_WITH_PROTOBUF=ON"));
}

#else

const std::string kMetadata = message(text(1, "0.0.4"));

TEST(Chakra, ReadsMessages) {
  // ids 3 and 4; 3 puts out tensors 8 and 9 of 16 x 4 bytes, 4 reads tensor 9. Integers come in all
  // types.
  const std::string gemm = number(1, 3) + text(2, "aten::addmm") + number(3, 4) + number(7, 12) +
                           text(9, text(1,
                                        "[[8, 1, 0, 16, 4, 'cuda:0'], 3.5, '<None>', "
                                        "[9, 1, 0, 16, 4, 'cuda:0']]")) +
                           text(10, text(1, "num_ops") + number(13, 1000)) +
                           text(10, text(1, "is_cpu_op") + number(27, 0));
  const std::string relu =
      number(1, 4) + text(2, "aten::relu_") + number(3, 4) + text(5, varint(3)) + number(7, 2) +
      text(8, text(1, "[[9, 1, 0, 16, 4, \"cuda:0\"]]")) +
      text(10, text(1, "is_cpu_op") + number(27, 1)) +
      text(10, text(1, "tensor_size") + number(15, 128)) + text(99, "what a later version adds");
  const OpGraph graph = read_format("chakra", kMetadata + message(gemm) + message(relu));
  EXPECT_EQ(graph[boost::graph_bundle].source, "Chakra ET 0.0.4");
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_EQ(graph[0].kind, "matmul");
  EXPECT_EQ(graph[0].flops, 1000);
  ASSERT_EQ(graph[0].outputs.size(), 2U);
  EXPECT_EQ(graph[0].outputs[1].bytes, 64);
  EXPECT_EQ(graph[0].measured[0].device_class, "chakra");
  EXPECT_EQ(graph[0].measured[0].cost_us, 12);
  EXPECT_EQ(graph[1].kind, "relu");
  EXPECT_EQ(graph[1].bytes_read, 64);  // 128, zigzag
  EXPECT_EQ(graph[1].measured[0].device_class, "cpu");
  EXPECT_EQ(edges_of(graph), (std::vector<std::tuple<OpId, int, OpId>>{{0, 1, 1}}));
}

TEST(Chakra, ChainsStreamsThatLackDependencies) {
  const auto kernel = [](std::uint64_t id, std::uint64_t start) {
    return message(number(1, id) + number(3, 4) + number(6, start) +
                   text(10, text(1, "stream") + number(9, 7)));
  };
  const std::string bytes = kMetadata + kernel(1, 30) + kernel(2, 10) + kernel(3, 20);
  EXPECT_EQ(boost::num_edges(read_format("chakra", bytes)), 0U);
  EXPECT_EQ(edges_of(read_format("chakra:chain-streams=true", bytes)),
            (std::vector<std::tuple<OpId, int, OpId>>{{1, -1, 2}, {2, -1, 0}}));
}

std::string node(std::uint64_t id, const std::vector<std::uint64_t>& control,
                 const std::vector<std::uint64_t>& data, std::uint64_t start = 0) {
  std::string fields = number(1, id) + number(3, 4);
  for (const std::uint64_t other : control) {
    fields += text(4, varint(other));
  }
  for (const std::uint64_t other : data) {
    fields += text(5, varint(other));
  }
  return message(fields + number(6, start));
}

using Edges = std::vector<std::tuple<OpId, int, OpId>>;

// An operator that waits for its own kernel, as real traces have it.
TEST(Chakra, LeavesOutControlDependenciesThatCloseACycle) {
  const OpGraph graph =
      read_format("chakra", kMetadata + node(1, {2}, {}) + node(2, {}, {1}) + node(3, {2, 1}, {}));
  EXPECT_EQ(edges_of(graph), (Edges{{0, -1, 1}, {0, -1, 2}, {1, -1, 2}}));
  EXPECT_EQ(graph[boost::graph_bundle].source,
            "Chakra ET 0.0.4; without 1 control dependency that closes a cycle");
  EXPECT_EQ(graph[boost::graph_bundle].warnings,
            (std::vector<std::string>{
                "folder/file.bin: 1 control dependency that closes a cycle is left out"}));
}

// Of dependencies that close a cycle only among themselves, those of the earliest node go.
TEST(Chakra, KeepsControlDependenciesThatAgreeWithTime) {
  const OpGraph graph =
      read_format("chakra", kMetadata + node(1, {3}, {}, 10) + node(2, {1}, {}, 20) +
                                node(3, {2}, {}, 30) + node(4, {5}, {}, 1) + node(5, {}, {}, 50));
  EXPECT_EQ(edges_of(graph), (Edges{{0, -1, 1}, {1, -1, 2}, {4, -1, 3}}));
  EXPECT_EQ(graph[boost::graph_bundle].warnings.size(), 1U);
}

TEST(Chakra, RefusesDataDependenciesThatCloseACycle) {
  EXPECT_THAT(error_of_reading("chakra", kMetadata + node(1, {2}, {2}) + node(2, {1}, {1})),
              HasSubstr("a cycle of ops"));
}

TEST(Chakra, RefusesBrokenMessages) {
  const Mistakes mistakes = {
      {"", "message 1, before byte 0: expected the length of a message"},
      {message(number(1, 3)), "expected GlobalMetadata, found a Node"},
      {kMetadata, "expected at least one node"},
      {kMetadata + varint(1000),
       "message 2, before byte 10: expected a message of 1000 bytes, found 0"},
      {kMetadata + "\xff\xff\xff\xff\xff\xff\xff", "expected the length of a message"},
      {kMetadata + message(text(2, "\xff")), "expected a message of type Node"},
      {kMetadata + message(number(1, 3) + text(10, text(1, "num_ops") + number(9, ~0ULL))),
       "node 3: expected num_ops to be an integer of at least 0"},
      {kMetadata + message(number(1, 3) + text(10, text(1, "num_ops") + text(29, "many"))),
       "node 3: expected num_ops to be an integer"},
      {kMetadata +
           message(number(1, 3) + text(9, text(1, "[1, 1, 0, 9223372036854775807, 8, 'cpu']"))),
       "node 3: the size of an output does not fit 64 bits"},
      {kMetadata + message(number(1, 3) + text(10, text(1, "emplace_op") + text(29, "{}"))),
       "node 3: emplace_op: the member 'name' is missing"},
  };
  expect_errors("chakra", mistakes);
}

TEST(Chakra, KeepsEveryOpAndEdgeOfOurGraphs) {
  OpGraph graph;
  boost::add_vertex(test::full_op(), graph);
  boost::add_vertex(Op{.name = "reader", .kind = "relu", .flops = 3}, graph);
  boost::add_vertex(Op{.name = "all", .kind = "all_reduce", .bytes_read = 5}, graph);
  const auto last = static_cast<std::int32_t>(graph[0].outputs.size()) - 1;
  add_dependency(graph, 0, last, 1);
  add_dependency(graph, 0, 0, 1);
  add_dependency(graph, 0, 0, 1);
  add_dependency(graph, 1, Dependency::kControl, 2);
  add_dependency(graph, 0, Dependency::kControl, 2);
  const std::string bytes = write_chakra(graph);
  OpGraph again = read_format("chakra", bytes);
  again[boost::graph_bundle] = graph[boost::graph_bundle];
  EXPECT_EQ(edges_of(again), edges_of(graph));
  EXPECT_EQ(write_chakra(again), bytes);
  for (std::size_t op = 0; op < 3; ++op) {
    OpGraph a;
    OpGraph b;
    boost::add_vertex(graph[op], a);
    boost::add_vertex(again[op], b);
    test::expect_equal(a, b);
  }
}

// What a program sees that knows nothing of emplace_op, by the numbers of Chakra's fields.
TEST(Chakra, WritesDurationsTypesAndSizes) {
  OpGraph graph;
  boost::add_vertex(Op{.name = "a",
                       .kind = "conv2d",
                       .flops = 300,
                       .bytes_read = 5,
                       .bytes_written = 2,
                       .measured = {{.device_class = "gpu", .cost_us = 1.25}}},
                    graph);
  const std::string bytes = write_chakra(graph, ":device-class=gpu");
  EXPECT_THAT(bytes, HasSubstr(text(2, "a") + number(3, 4)));  // name, COMP_NODE
  EXPECT_THAT(bytes, HasSubstr(number(7, 2)));                 // whole microseconds
  EXPECT_THAT(bytes, HasSubstr(text(1, "num_ops") + number(9, 300)));
  EXPECT_THAT(bytes, HasSubstr(text(1, "tensor_size") + number(9, 7)));
  EXPECT_THAT(bytes, HasSubstr(text(1, "is_cpu_op") + number(27, 0)));
}

#endif

}  // namespace
}  // namespace emplace::chakra_test

#include "support/errors.hpp"

#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace emplace::dnn_partitioning_test {
namespace {

using testing::StartsWith;

// ids 7 -> 3 -> 9, not in topological order and with gaps; 2^21 bytes take 1000/1024 ms at 2 GiB/s.
const std::string kInference = R"({"maxSizePerFPGA": 1e9, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
  {"id": 3, "name": "b", "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1,
   "isBackwardNode": 0, "colorClass": 5, "size": 3000000},
  {"id": 9, "name": "c", "supportedOnFpga": true, "cpuLatency": 0, "fpgaLatency": 0,
   "isBackwardNode": false, "size": 4.0},
  {"id": 7, "name": "a", "supportedOnFpga": true, "cpuLatency": 2.5, "fpgaLatency": 0.25,
   "isBackwardNode": false, "colorClass": 5, "size": 1000}],
 "edges": [{"sourceId": 3, "destId": 9, "cost": 0.9765625, "size": 2097152},
           {"sourceId": 7, "destId": 3, "cost": 0.001953125, "size": 4194.304},
           {"sourceId": 7, "destId": 9, "cost": 0.001953125, "size": 4194.304}]})";

OpGraph read_dnn_partitioning(std::string_view text, const std::string& source,
                              std::string_view format = "dnn-partitioning") {
  return GraphFormats::global().read(Spec::parse(format), text, source);
}

std::vector<OpId> consumers(const OpGraph& graph, std::size_t op) {
  std::vector<OpId> ids;
  const auto [begin, end] = boost::out_edges(op, graph);
  for (auto edge = begin; edge != end; ++edge) {
    ids.push_back(static_cast<OpId>(boost::target(*edge, graph)));
  }
  return ids;
}

TEST(DnnPartitioning, BecomesAGraphWithMeasuredCosts) {
  const OpGraph graph = read_dnn_partitioning(kInference, "folder/tiny.json");
  EXPECT_EQ(graph[boost::graph_bundle].name, "tiny");
  ASSERT_EQ(num_ops(graph), 3);
  EXPECT_EQ(graph[0].name, "b");
  EXPECT_EQ(graph[0].phase, Phase::kForward);
  EXPECT_EQ(graph[0].measured[0].device_class, "fpga");
  EXPECT_EQ(graph[0].measured[0].cost_us, 1000);
  EXPECT_EQ(graph[0].measured[1].device_class, "cpu");
  EXPECT_EQ(graph[0].measured[1].cost_us, 10000);
  EXPECT_EQ(graph[2].measured[0].cost_us, 250);
  EXPECT_EQ(graph[0].colocation, "class-5");
  EXPECT_EQ(graph[1].colocation, "");
  EXPECT_EQ(consumers(graph, 2), (std::vector<OpId>{0, 1}));
}

TEST(DnnPartitioning, TheUserNamesTheDeviceClassesOfTheCosts) {
  const OpGraph graph = read_dnn_partitioning(
      kInference, "tiny.json", "dnn-partitioning:accelerator=gpu-k80,cpu=cpu-xeon-e5-2686-v4");
  EXPECT_EQ(graph[0].measured[0].device_class, "gpu-k80");
  EXPECT_EQ(graph[0].measured[1].device_class, "cpu-xeon-e5-2686-v4");
}

TEST(DnnPartitioning, PartsSizesIntoWeightsAndOutputs) {
  const OpGraph graph = read_dnn_partitioning(kInference, "tiny.json");
  ASSERT_EQ(graph[0].outputs.size(), 1U);
  EXPECT_EQ(graph[0].outputs[0].bytes, 2097152);
  EXPECT_EQ(graph[0].persistent_bytes, 3000000 - 2097152);
  EXPECT_EQ(graph[1].outputs.size(), 0U);  // nothing reads it
  EXPECT_EQ(graph[1].persistent_bytes, 4);
  ASSERT_EQ(graph[2].outputs.size(), 1U);  // one value with two readers
  EXPECT_EQ(graph[2].outputs[0].bytes, 4194);
  EXPECT_EQ(graph[2].persistent_bytes, 0);  // the value is larger than the node
}

TEST(DnnPartitioning, FindsCostsInSeconds) {
  std::string text = kInference;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from)) {
      text.replace(at, from.size(), to);
    }
  };
  replace("0.9765625", "0.0009765625");
  replace("0.001953125", "0.000001953125");
  const OpGraph graph = read_dnn_partitioning(text, "tiny.json");
  EXPECT_EQ(graph[0].outputs[0].bytes, 2097152);
  EXPECT_EQ(graph[2].outputs[0].bytes, 4194);
}

std::string file_with(const std::string& nodes, const std::string& edges) {
  return fmt::format(R"({{"nodes": [{}], "edges": [{}]}})", nodes, edges);
}

// Forward a -> b -> c and a -> c; the backward half is a copy of it with forward edges, and the
// size of its edges is that of the destination. Costs: 2^31 bytes/s, so 1000 ms are 2^31 bytes.
std::string training(const std::string& more_nodes = "", const std::string& more_edges = "") {
  const auto node = [](int id, const std::string& name, int color_class, bool is_backward) {
    return nlohmann::json{{"id", id},
                          {"name", name},
                          {"cpuLatency", 10},
                          {"fpgaLatency", 1},
                          {"size", 1000},
                          {"isBackwardNode", is_backward},
                          {"colorClass", color_class}}
        .dump();
  };
  const auto edge = [](int from, int to, double bytes, double size) {
    return nlohmann::json{
        {"sourceId", from}, {"destId", to}, {"cost", bytes / 2147483.648}, {"size", size}}
        .dump();
  };
  const std::string nodes = fmt::format(
      "{},{},{},{},{},{}", node(1, "a", 1, false), node(2, "b", 2, false), node(3, "c", 3, false),
      node(11, "agrad", 1, true), node(12, "bgrad", 2, true), node(13, "cgrad", 3, true));
  const std::string edges = fmt::format(
      "{},{},{},{},{},{}", edge(1, 2, 100, 100), edge(2, 3, 200, 200), edge(1, 3, 100, 100),
      edge(11, 12, 100, 777), edge(12, 13, 200, 777), edge(11, 13, 100, 777));
  return file_with(nodes + more_nodes, edges + more_edges);
}

TEST(DnnPartitioning, TurnsTheBackwardHalfRoundAndJoinsIt) {
  const OpGraph graph = read_dnn_partitioning(training(), "tiny.json");
  ASSERT_EQ(num_ops(graph), 6);
  EXPECT_EQ(graph[3].phase, Phase::kBackward);
  std::vector<std::string> edges;
  const auto [begin, end] = boost::edges(graph);
  for (auto edge = begin; edge != end; ++edge) {
    const Op& producer = graph[boost::source(*edge, graph)];
    const std::int32_t output = graph[*edge].output;
    const std::string bytes =
        output == Dependency::kControl
            ? "control"
            : std::to_string(producer.outputs.at(static_cast<std::size_t>(output)).bytes);
    edges.push_back(producer.name + "-" + bytes + "-" + graph[boost::target(*edge, graph)].name);
  }
  EXPECT_THAT(edges, testing::ElementsAre(
                         "a-100-b", "b-200-c", "a-100-c",                          // as they were
                         "bgrad-100-agrad", "cgrad-200-bgrad", "cgrad-100-agrad",  // turned
                         "a-100-agrad", "b-200-bgrad", "c-control-cgrad"));        // joined
  EXPECT_EQ(graph[5].outputs.size(), 2U);  // cgrad: the gradients of a and of b
}

TEST(DnnPartitioning, DoesNotRepairATrainingGraphThatIsJoined) {
  // With one edge from forward to backward, the file is taken as it is.
  const std::string text = training("", R"(, {"sourceId": 3, "destId": 11, "cost": 0, "size": 0})");
  const OpGraph graph = read_dnn_partitioning(text, "tiny.json");
  EXPECT_EQ(boost::num_edges(graph), 7U);
  EXPECT_EQ(consumers(graph, 3), (std::vector<OpId>{4, 5}));
}

struct HostileInput {
  const char* name;
  std::string text;
  std::string message;
};

void PrintTo(const HostileInput& input, std::ostream* out) { *out << input.name; }

// Writes a node with one field more.
std::string node(int id, const std::string& more = "") {
  return fmt::format(R"({{"cpuLatency": 1, "fpgaLatency": 1, "size": 1, "id": {}{}}})", id, more);
}

std::vector<HostileInput> hostile_inputs() {
  const std::string two = fmt::format("{},{}", node(1), node(2));
  return {
      {"Empty", "", "x.json: not valid JSON"},
      {"Truncated", kInference.substr(0, 300), "x.json: /nodes/"},
      {"NoNodes", file_with("", ""), "x.json: /nodes: expected at least one node"},
      {"NodesMissing", "{}", "x.json: the member 'nodes' is missing"},
      {"EdgesMissing", R"({"nodes": [)" + two + "]}", "x.json: the member 'edges' is missing"},
      {"OurOwnFormat", R"({"schema": "emplace-graph", "nodes": []})", "x.json: /schema: "},
      {"IdTwice", file_with(fmt::format("{},{}", node(1), node(1)), ""),
       "x.json: /nodes/1/id: the id 1 appears twice"},
      {"IdIsAText", file_with(R"({"id": "1"})", ""), "x.json: /nodes/0/id: "},
      {"NameTwice",
       file_with(fmt::format("{},{}", node(1, R"(, "name": "a")"), node(2, R"(, "name": "a")")),
                 ""),
       "x.json: two ops are called 'a'"},
      {"LatencyMissing", file_with(R"({"id": 1, "cpuLatency": 1, "size": 1})", ""),
       "x.json: /nodes/0: the member 'fpgaLatency' is missing"},
      {"NegativeLatency",
       file_with(R"({"id": 1, "cpuLatency": 1, "fpgaLatency": -1, "size": 1})", ""),
       "x.json: /nodes/0/fpgaLatency: "},
      {"GiganticSize",
       file_with(R"({"id": 1, "cpuLatency": 1, "fpgaLatency": 1, "size": 1e300})", ""),
       "x.json: /nodes/0/size: "},
      {"FlagIsTwo", file_with(node(1, R"(, "isBackwardNode": 2)"), ""),
       "x.json: /nodes/0/isBackwardNode: "},
      {"CpuOnly", file_with(node(1, R"(, "supportedOnFpga": 0)"), ""),
       "x.json: /nodes/0/supportedOnFpga: "},
      {"EdgeFromNowhere", file_with(two, R"({"sourceId": 3, "destId": 2, "cost": 0, "size": 0})"),
       "x.json: /edges/0/sourceId: no node has the id 3"},
      {"EdgeTwice", file_with(two, R"({"sourceId": 1, "destId": 2, "cost": 0, "size": 0},
                         {"sourceId": 1, "destId": 2, "cost": 0, "size": 0})"),
       "x.json: /edges/1: the edge appears twice"},
      {"CostIsNotANumber",
       file_with(two, R"({"sourceId": 1, "destId": 2, "cost": NaN, "size": 0})"),
       "x.json: /edges/0/cost: not valid JSON"},
      {"CostOfAnotherRate", file_with(two, R"({"sourceId": 1, "destId": 2, "cost": 1, "size": 1})"),
       "x.json: /edges: expected costs of size / 2^31 in seconds"},
      {"TwoCostsOfOneSource",
       file_with(fmt::format("{},{}", two, node(3)),
                 R"({"sourceId": 1, "destId": 2, "cost": 1000, "size": 2147483648},
                    {"sourceId": 1, "destId": 3, "cost": 500, "size": 1073741824})"),
       "x.json: /edges/1/cost: expected 1000 as on the other edges of its source, found 500"},
      {"Cycle", file_with(two, R"({"sourceId": 1, "destId": 2, "cost": 0, "size": 0},
                         {"sourceId": 2, "destId": 1, "cost": 0, "size": 0})"),
       "x.json: a cycle of ops: "},
      {"BackwardNodeWithoutMate",
       file_with(fmt::format("{},{}", node(1, R"(, "colorClass": 1)"),
                             node(2, R"(, "colorClass": 2, "isBackwardNode": 1)")),
                 ""),
       "x.json: /nodes/1: expected a forward node of the same class"},
      {"BackwardNodesShareAMate",
       training(fmt::format(",{}", node(14, R"(, "colorClass": 1, "isBackwardNode": 1)"))),
       "x.json: /nodes/6: expected a forward node of the same class"},
      {"ForwardNodesShareAClass", training(fmt::format(",{}", node(14, R"(, "colorClass": 1)"))),
       "x.json: /nodes/6/colorClass: expected one forward node in each class"},
      {"HalvesDiffer", training("", R"(, {"sourceId": 13, "destId": 12, "cost": 0, "size": 0})"),
       "x.json: /edges/6: the forward half has no such edge"},
  };
}

class HostileDnnPartitioning : public testing::TestWithParam<HostileInput> {};

TEST_P(HostileDnnPartitioning, GivesOneClearError) {
  EXPECT_THAT(
      test::error_of(ErrorCode::kFormat, [&] { read_dnn_partitioning(GetParam().text, "x.json"); }),
      StartsWith(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(DnnPartitioning, HostileDnnPartitioning,
                         testing::ValuesIn(hostile_inputs()),
                         [](const auto& input) { return input.param.name; });

}  // namespace
}  // namespace emplace::dnn_partitioning_test

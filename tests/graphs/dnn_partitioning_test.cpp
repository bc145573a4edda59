#include "tests/support/source_path.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

namespace emplace {
namespace {

using testing::StartsWith;

constexpr double kGibibyte = 1073741824.0;

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

// Figures of the repository's files, computed from them independently of this reader: nodes, edges,
// backward nodes, classes (a node without one is its own), GiB of all nodes, and in ms: one
// transfer of each value, the sum and the longest path of the accelerator's latencies. In repaired
// graphs the latter two are those of the repaired graph, and each forward node has an edge more
// than the file.
struct Workload {
  const char* file;
  int nodes, edges, backward, classes;
  double memory_gib, transfers_ms, one_ms, critical_path_ms;
  bool is_repaired = false;
};

void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.file; }

const Workload kWorkloads[] = {
    {"latency/Layer/bert24_inference", 32, 55, 0, 32, 1.70, 107.0, 92.4, 92.4},
    {"latency/Layer/gnmt_inference", 96, 122, 0, 96, 2.30, 428.9, 182.6, 182.4},
    {"latency/Layer/inceptionv3_inference", 326, 363, 0, 326, 15.64, 7770.1, 311.0, 195.3},
    {"latency/Layer/resnet50_inference", 177, 193, 0, 177, 18.08, 8991.1, 201.5, 187.5},
    {"latency/Operator/bert_l-12_inference", 783, 843, 0, 424, 8.65, 4778.5, 642.8, 609.4},
    {"latency/Operator/bert_l-3_inference", 235, 250, 0, 128, 1.41, 557.6, 49.4, 47.8},
    {"latency/Operator/bert_l-6_inference", 418, 448, 0, 227, 2.08, 917.6, 77.5, 75.0},
    {"latency/Operator/resnet50_inference", 604, 619, 0, 176, 3.27, 2286.5, 325.1, 289.9},
    {"throughput/Layer/bert24_inference", 32, 55, 0, 32, 1.70, 107.0, 92.4, 92.4},
    {"throughput/Layer/bert24_training", 64, 110, 32, 32, 3.40, 274.3, 217.8, 217.8, true},
    {"throughput/Layer/gnmt_inference", 96, 122, 0, 96, 2.30, 428.9, 182.6, 182.4},
    {"throughput/Layer/gnmt_training", 192, 244, 96, 96, 4.59, 983.9, 520.5, 519.9, true},
    {"throughput/Layer/inceptionv3_inference", 326, 363, 0, 326, 15.64, 7770.1, 311.0, 195.3},
    {"throughput/Layer/inceptionv3_training", 652, 726, 326, 326, 31.28, 17024.5, 710.7, 433.5,
     true},
    {"throughput/Layer/resnet50_inference", 177, 193, 0, 177, 18.08, 8991.1, 201.5, 187.5},
    {"throughput/Layer/resnet50_training", 354, 386, 177, 177, 36.16, 18006.6, 462.4, 420.2, true},
    {"throughput/Operator/bert_L-12_training", 2012, 2751, 1229, 456, 21.67, 11596.8, 1891.7,
     1333.5},
    {"throughput/Operator/bert_l-12_inference", 783, 843, 0, 424, 8.65, 4778.5, 642.8, 609.4},
    {"throughput/Operator/bert_l-3_inference", 235, 250, 0, 128, 1.41, 557.6, 49.4, 47.8},
    {"throughput/Operator/bert_l-3_training", 600, 817, 365, 142, 3.07, 1570.4, 123.0, 113.4},
    {"throughput/Operator/bert_l-6_inference", 418, 448, 0, 227, 2.08, 917.6, 77.5, 75.0},
    {"throughput/Operator/bert_l-6_training", 1071, 1462, 653, 247, 4.57, 2352.4, 192.9, 175.8},
    {"throughput/Operator/resnet50_inference", 604, 619, 0, 176, 3.27, 2286.5, 325.1, 289.9},
    {"throughput/Operator/resnet50_training", 1243, 1806, 639, 193, 6.61, 5267.0, 684.9, 592.2},
};

class DnnPartitioningFile : public testing::TestWithParam<Workload> {
 protected:
  static std::string path() {
    std::string name = GetParam().file;
    name.replace(name.find('/'), 1, "-inputs/");
    name.replace(name.rfind('/'), 1, "Graphs/");
    return test::source_path("../shared/data/dnn-partitioning/" + name + ".json");
  }
};

double critical_path_us(const OpGraph& graph) {
  std::vector<double> finish_us(boost::num_vertices(graph), 0.0);
  double longest_us = 0;
  for (const OpId id : topological_order(graph)) {
    const auto op = static_cast<std::size_t>(id);
    finish_us[op] += graph[op].measured.at(0).cost_us;
    longest_us = std::max(longest_us, finish_us[op]);
    for (const OpId consumer : consumers(graph, op)) {
      double& start_us = finish_us[static_cast<std::size_t>(consumer)];
      start_us = std::max(start_us, finish_us[op]);
    }
  }
  return longest_us;
}

TEST_P(DnnPartitioningFile, HasItsKnownFigures) {
  if (!std::filesystem::exists(path())) {
    GTEST_SKIP() << path() << " is not here";
  }
  const Workload& workload = GetParam();
  const OpGraph graph = read_dnn_partitioning(read_text_file(path()), path());
  EXPECT_EQ(num_ops(graph), workload.nodes);
  EXPECT_EQ(static_cast<int>(boost::num_edges(graph)),
            workload.edges + (workload.is_repaired ? workload.nodes - workload.backward : 0));
  int backward = 0;
  int without_class = 0;
  std::set<std::string> classes;
  double transfers_bytes = 0;
  double one_us = 0;
  for (std::size_t i = 0; i < boost::num_vertices(graph); ++i) {
    const Op& op = graph[i];
    backward += op.phase == Phase::kBackward ? 1 : 0;
    without_class += op.colocation.empty() ? 1 : 0;
    if (!op.colocation.empty()) {
      classes.insert(op.colocation.substr(0, op.colocation.find("-backward")));
    }
    for (const Output& output : op.outputs) {
      transfers_bytes += static_cast<double>(output.bytes);
    }
    one_us += op.measured.at(0).cost_us;
  }
  EXPECT_EQ(backward, workload.backward);
  EXPECT_EQ(static_cast<int>(classes.size()) + without_class, workload.classes);
  EXPECT_NEAR(transfers_bytes / (2 * kGibibyte) * 1000, workload.transfers_ms, 0.051);
  EXPECT_NEAR(one_us / 1000, workload.one_ms, 0.051);
  EXPECT_NEAR(critical_path_us(graph) / 1000, workload.critical_path_ms, 0.051);
}

TEST_P(DnnPartitioningFile, KeepsTheMemoryOfEveryNode) {
  if (!std::filesystem::exists(path())) {
    GTEST_SKIP() << path() << " is not here";
  }
  const std::string text = read_text_file(path());
  const OpGraph graph = read_dnn_partitioning(text, path());
  const nlohmann::json nodes = nlohmann::json::parse(text).at("nodes");
  double memory_bytes = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double size = nodes[i].at("size").get<double>();
    double outputs = 0;
    for (const Output& output : graph[i].outputs) {
      outputs += static_cast<double>(output.bytes);
    }
    memory_bytes += size;
    // What the node holds is its size, or its outputs where the file makes them larger than the
    // node.
    EXPECT_NEAR(static_cast<double>(graph[i].persistent_bytes) + outputs, std::max(size, outputs),
                0.51)
        << graph[i].name;
  }
  EXPECT_NEAR(memory_bytes / kGibibyte, GetParam().memory_gib, 0.0051);
}

INSTANTIATE_TEST_SUITE_P(DnnPartitioning, DnnPartitioningFile, testing::ValuesIn(kWorkloads),
                         [](const auto& workload) {
                           std::string name = workload.param.file;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

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
       "x.json: /nodes/1/id: the id 1 comes twice"},
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
       "x.json: /edges/1: the edge comes twice"},
      {"CostIsNotANumber",
       file_with(two, R"({"sourceId": 1, "destId": 2, "cost": NaN, "size": 0})"),
       "x.json: /edges/0/cost: not valid JSON"},
      {"CostOfAnotherRate", file_with(two, R"({"sourceId": 1, "destId": 2, "cost": 1, "size": 1})"),
       "x.json: /edges: expected costs of size / 2^31 seconds"},
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
  try {
    read_dnn_partitioning(GetParam().text, "x.json");
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFormat);
    EXPECT_THAT(error.what(), StartsWith(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(DnnPartitioning, HostileDnnPartitioning,
                         testing::ValuesIn(hostile_inputs()),
                         [](const auto& input) { return input.param.name; });

}  // namespace
}  // namespace emplace

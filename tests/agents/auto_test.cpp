// The default of emplace place: never worse than a heuristic, and near what is known to be optimal.

#include "agents/placing.hpp"
#include "support/source_path.hpp"

#include <emplace/agents/agent_spec.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace emplace::agents::auto_test {
namespace {

double step_us(const std::string& agent, const Problem& problem, std::int64_t evaluations) {
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = evaluations}});
  Simulator simulator(problem);
  const SimResult& step = simulator.run(AgentSpec(agent).make()->place(problem, evaluator));
  EXPECT_EQ(step.bytes_over, 0) << agent;
  return step.makespan_us;
}

TEST(Auto, IsNeverWorseThanAHeuristicWithTheFasterOrder) {
  for (const char* const name : {"nmt", "inception-v3"}) {
    for (const char* const cluster : {"p2-8xlarge-4", "dgx-1-v100"}) {
      SCOPED_TRACE(testing::Message() << name << " on " << cluster);
      auto graph = std::make_shared<const OpGraph>(load_graph(name));
      Grouping grouping = find_grouping("colocation").group(*graph, kDefaultGroups);
      const Problem problem(std::move(graph), std::move(grouping),
                            std::make_shared<const Cluster>(load_cluster(cluster)));
      const double auto_us = step_us("auto", problem, 60);
      for (const char* const heuristic : {"human-expert", "m-topo", "heft:order=faster",
                                          "etf:order=faster", "m-etf:order=faster"}) {
        EXPECT_LE(auto_us, step_us(heuristic, problem, 1000)) << heuristic;
      }
    }
  }
}

// Two pipelines of two stages, and data parallelism.
TEST(Auto, IsNeverWorseThanAnExpertOnABatchInParts) {
  for (const auto& [name, expert] :
       {std::pair("bert-base:batch=8,replicas=2,micro-batches=4", "pipeline-expert"),
        std::pair("bert-base:batch=8,replicas=4", "data-parallel-expert")}) {
    auto graph = std::make_shared<const OpGraph>(load_graph(name));
    Grouping grouping = find_grouping("colocation").group(*graph, 1);
    const Problem problem(std::move(graph), std::move(grouping),
                          std::make_shared<const Cluster>(load_cluster("p2-8xlarge-4")));
    EXPECT_LE(step_us("auto", problem, 10), step_us(expert, problem, 10)) << name;
  }
}

// Equal processors, between which nothing takes time.
std::shared_ptr<const Cluster> equal_processors(int count) {
  const std::string profile =
      R"({"schema": "emplace-device-profile", "version": 1, "name": "processor", "summary": "one",)"
      R"("device_class": "stg", "peak_flops_per_s": 1e9, "memory_bytes_per_s": 1e9,)"
      R"("memory_bytes": 1000000000, "op_classes": {}, "fallback": {"fixed_us": 0,)"
      R"("compute_efficiency": 1, "memory_efficiency": 1}, "provenance": {"kind": "spec-sheet",)"
      R"("source": "none", "date": "2026-11-27", "notes": ""}})";
  std::string devices;
  std::string links;
  for (int one = 0; one < count; ++one) {
    devices += fmt::format(R"({}{{"name": "p:{}", "profile": {}}})", one == 0 ? "" : ",", one,
                           one == 0 ? profile : "\"processor\"");
    for (int other = 0; other < one; ++other) {
      links += fmt::format(R"({}{{"name": "l{}-{}", "between": ["p:{}", "p:{}"],)"
                           R"("bandwidth_bytes_per_us": 1e6, "latency_us": 0,)"
                           R"("sharing": "fatpipe"}})",
                           links.empty() ? "" : ",", other, one, other, one);
    }
  }
  return std::make_shared<const Cluster>(
      read_cluster(fmt::format(R"({{"schema": "emplace-cluster", "version": 1, "name": "equal",)"
                               R"("summary": "equal processors", "transfer_model": "physical",)"
                               R"("physical": {{"links": [{}]}}, "devices": [{}], "provenance":)"
                               R"({{"kind": "spec-sheet", "source": "none", "date": "2026-11-27",)"
                               R"("notes": ""}}}})",
                               links, devices),
                   "equal.json"));
}

// On two processors whose queues are in order of arrival no placement takes less than 13; with the
// right order 12, the work of all tasks divided by two, rounded up.
TEST(Auto, FindsTheOrderOnDevices) {
  constexpr std::string_view kTasks =
      "7\n0 0 0\n1 6 1 0\n2 1 1 0\n3 2 2 1 2\n4 2 1 1\n5 1 1 0\n6 5 1 5\n7 6 2 2 6\n8 0 1 7\n";
  auto graph = std::make_shared<const OpGraph>(
      GraphFormats::global().read(Spec::parse("stg"), kTasks, "tasks.stg"));
  Grouping grouping = ungrouped(*graph);
  const Problem problem(std::move(graph), std::move(grouping), equal_processors(2));
  EXPECT_DOUBLE_EQ(test::optimum_us(problem), 13);
  EXPECT_DOUBLE_EQ(step_us("auto", problem, 3000), 12);
}

// Standard Task Graphs (Tobita, Kasahara 2002) with proven optima, where they are at hand.
TEST(Auto, FindsTheOptimaOfStandardTaskGraphs) {
  const std::string folder = test::source_path("../shared/data/stg");
  std::ifstream optima(folder + "/optima.csv");
  if (!optima) {
    GTEST_SKIP() << "no task graphs here";
  }
  std::string line;
  std::getline(optima, line);
  int problems = 0;
  int solved = 0;
  for (int row = 0; std::getline(optima, line); ++row) {
    std::istringstream fields(line);
    std::string file;
    std::string processors;
    std::string bound;
    std::string best;
    std::getline(fields, file, ',');
    std::getline(fields, processors, ',');
    std::getline(fields, bound, ',');
    std::getline(fields, best, ',');
    if (row % 6 != 0 || std::stod(bound) != std::stod(best)) {
      continue;
    }
    auto graph = std::make_shared<const OpGraph>(load_graph(fmt::format("{}/{}", folder, file)));
    Grouping grouping = ungrouped(*graph);
    const Problem problem(std::move(graph), std::move(grouping),
                          equal_processors(std::stoi(processors)));
    ++problems;
    solved += step_us("auto", problem, 20'000) <= std::stod(bound) * (1 + 1e-9);
  }
  EXPECT_GT(problems, 20);
  EXPECT_GE(solved, problems * 85 / 100) << "of " << problems;
}

}  // namespace
}  // namespace emplace::agents::auto_test

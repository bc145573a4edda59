#include "support/errors.hpp"

#include <emplace/bench/run_comparison.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace emplace::bench::run_comparison_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kThreshold = 0.02;

// heft is deterministic, random is not.
const std::vector<std::string> kAgents = {"heft", "random"};

Suite suite_of(int graphs) {
  Suite suite{.name = "example", .clusters = {"c"}, .repetitions = 5};
  for (int graph = 0; graph < graphs; ++graph) {
    suite.graphs.push_back({fmt::format("g{}", graph)});
  }
  for (const std::string& agent : kAgents) {
    suite.agents.push_back({agent});
  }
  return suite;
}

// On graph g, heft takes 100 (g + 1) ms and repetition r of random 200 (g + 1) + r ms.
StoredRun run_of(int graphs) {
  StoredRun run{.manifest = {.suite = suite_of(graphs), .root_seed = 3, .num_cells = 6 * graphs}};
  run.manifest.starts.push_back({.build = {.version = "1.0.0", .git_revision = "abc"}});
  for (const SuiteGraph& graph : run.manifest.suite.graphs) {
    const auto number = static_cast<double>(&graph - run.manifest.suite.graphs.data()) + 1;
    run.manifest.problems.push_back({graph.graph, "c", "hash", "step hash"});
    for (const SuiteAgent& agent : run.manifest.suite.agents) {
      const bool exact = agent.agent.text() == "heft";
      for (std::int64_t repetition = 0; repetition < (exact ? 1 : 5); ++repetition) {
        run.results.push_back(
            {.cell = cell_of(run.manifest.suite, graph, "c", agent, repetition, 3),
             .step_time_us = 1e5 * number * (exact ? 1 : 2) + 1e3 * static_cast<double>(repetition),
             .bound_us = 1,
             .evaluations_to_near_best = 7});
      }
    }
  }
  return run;
}

template <class Change>
void change(StoredRun& run, const std::string& agent, const std::string& graph, Change change) {
  for (CellResult& result : run.results) {
    if (result.cell.agent.text() == agent && (graph.empty() || result.cell.graph == graph)) {
      change(result);
    }
  }
}

void slow_down(StoredRun& run, const std::string& agent, const std::string& graph, double factor) {
  change(run, agent, graph, [&](CellResult& result) { result.step_time_us *= factor; });
}

const GraphComparison& row_of(const RunComparison& comparison, const std::string& agent,
                              const std::string& graph) {
  return *std::ranges::find_if(comparison.graphs, [&](const GraphComparison& row) {
    return row.agent == agent && row.graph == graph;
  });
}

const AgentComparison& row_of(const RunComparison& comparison, const std::string& agent) {
  return *std::ranges::find(comparison.agents, agent, &AgentComparison::agent);
}

void expect_refused(const StoredRun& a, const StoredRun& b, const std::string& message) {
  EXPECT_THAT(test::error_of(ErrorCode::kFormat, [&] { compare_runs(a, b, kThreshold); }),
              HasSubstr(message));
}

TEST(RunComparison, OfARunWithItselfFindsNothing) {
  const RunComparison same = compare_runs(run_of(6), run_of(6), 0);
  EXPECT_EQ(same.graphs.size(), 12U);
  EXPECT_EQ(same.count(Verdict::kUnsure), 14);
  EXPECT_TRUE(same.differences.empty());
  EXPECT_TRUE(same.missing.empty());
  EXPECT_TRUE(std::ranges::all_of(same.graphs, &GraphComparison::identical));
  EXPECT_EQ(row_of(same, "random", "g3").ratio->ratio, 1);
  EXPECT_THAT(write_terminal(same, false),
              HasSubstr("12 of 12 results by graph are the same in A and B"));
  EXPECT_THAT(write_terminal(same, false), Not(HasSubstr("By graph\n")));
}

TEST(RunComparison, TakesADeterministicAgentByItsRatio) {
  StoredRun b = run_of(3);
  slow_down(b, "heft", "g1", 1.03);
  slow_down(b, "heft", "g2", 0.9);
  const RunComparison comparison = compare_runs(run_of(3), b, kThreshold);
  EXPECT_EQ(row_of(comparison, "heft", "g0").verdict, Verdict::kUnsure);
  EXPECT_EQ(row_of(comparison, "heft", "g1").verdict, Verdict::kSlower);
  EXPECT_EQ(row_of(comparison, "heft", "g2").verdict, Verdict::kFaster);
  EXPECT_FALSE(row_of(comparison, "heft", "g1").significance.has_value());
  EXPECT_EQ(compare_runs(run_of(3), b, 0.05).count(Verdict::kSlower), 0);
}

// All five repetitions are slower than any before: 2 of 252 ways. Of three graphs that is 0.024.
TEST(RunComparison, TestsRepetitionsWithHolmsCorrectionOverRows) {
  StoredRun b = run_of(3);
  slow_down(b, "random", "g1", 1.5);
  const RunComparison comparison = compare_runs(run_of(3), b, kThreshold);
  const GraphComparison& slower = row_of(comparison, "random", "g1");
  EXPECT_DOUBLE_EQ(slower.significance->p, 3 * 2.0 / 252);
  EXPECT_DOUBLE_EQ(slower.significance->p_slower, 3 * 1.0 / 252);
  EXPECT_EQ(slower.verdict, Verdict::kSlower);
  EXPECT_NEAR(slower.ratio->ratio, 1.5, 1e-12);
  ASSERT_TRUE(slower.ratio->interval.has_value());
  EXPECT_EQ(comparison.count(Verdict::kSlower), 1);
  // Of 20 rows, the same is no proof: 20 / 252 = 0.079.
  StoredRun many = run_of(20);
  slow_down(many, "random", "g1", 1.5);
  EXPECT_EQ(compare_runs(run_of(20), many, kThreshold).count(Verdict::kSlower), 0);
}

// 3 % on each of 8 graphs: 1 of 2^8 choices of signs is as far out, times 2 agents.
TEST(RunComparison, TestsAgentsOverGraphs) {
  StoredRun b = run_of(8);
  slow_down(b, "random", "", 1.03);
  const RunComparison comparison = compare_runs(run_of(8), b, kThreshold);
  const AgentComparison& random = row_of(comparison, "random");
  EXPECT_EQ(random.pairs->pairs, 8);
  EXPECT_EQ(random.pairs->greater, 8);
  EXPECT_NEAR(random.pairs->ratio, 1.03, 1e-12);
  EXPECT_DOUBLE_EQ(random.significance->p, 2 * 2.0 / 256);
  EXPECT_DOUBLE_EQ(random.significance->p_slower, 2 * 1.0 / 256);
  EXPECT_EQ(random.verdict, Verdict::kSlower);
  EXPECT_EQ(row_of(comparison, "heft").verdict, Verdict::kUnsure);
  EXPECT_EQ(row_of(compare_runs(run_of(8), b, 0.04), "random").verdict, Verdict::kUnsure);
  EXPECT_EQ(row_of(compare_runs(b, run_of(8), kThreshold), "random").verdict, Verdict::kFaster);
}

TEST(RunComparison, PairsOnlyGraphsOnWhichBothFit) {
  const auto overflow = [](CellResult& result) { result.status = CellStatus::kOutOfMemory; };
  StoredRun a = run_of(4);
  StoredRun b = run_of(4);
  change(a, "heft", "g0", overflow);
  change(b, "heft", "g1", overflow);
  change(b, "random", "g2", overflow);
  const RunComparison comparison = compare_runs(a, b, kThreshold);
  const AgentComparison& heft = row_of(comparison, "heft");
  EXPECT_EQ(heft.pairs->pairs, 2);
  EXPECT_EQ(heft.only_a, 1);
  EXPECT_EQ(heft.only_b, 1);
  EXPECT_EQ(row_of(comparison, "heft", "g0").verdict, Verdict::kFaster);
  EXPECT_EQ(row_of(comparison, "heft", "g1").verdict, Verdict::kSlower);
  // Five of five repetitions that no longer fit: as slow as can be.
  EXPECT_FALSE(row_of(comparison, "random", "g2").ratio.has_value());
  EXPECT_DOUBLE_EQ(row_of(comparison, "random", "g2").significance->p_slower, 4 * 1.0 / 252);
  EXPECT_EQ(row_of(comparison, "random", "g2").verdict, Verdict::kSlower);
  EXPECT_THAT(write_terminal(comparison, false), HasSubstr("out of memory"));
}

TEST(RunComparison, OneRepetitionThatFailsIsNoProof) {
  StoredRun b = run_of(1);
  b.results.back().status = CellStatus::kFailed;
  const RunComparison comparison = compare_runs(run_of(1), b, kThreshold);
  EXPECT_EQ(comparison.count(Verdict::kSlower), 0);
  EXPECT_THAT(write_terminal(comparison, false), HasSubstr("B: 1 of 5 failed"));
}

TEST(RunComparison, TellsWhatIsMissing) {
  StoredRun a = run_of(5);
  StoredRun b = run_of(5);
  std::erase_if(a.results, [](const CellResult& result) {
    return result.cell.agent.text() == "heft" && result.cell.graph == "g4";
  });
  std::erase_if(b.results,
                [](const CellResult& result) { return result.cell.agent.text() == "random"; });
  const RunComparison comparison = compare_runs(a, b, kThreshold);
  EXPECT_EQ(comparison.graphs.size(), 4U);
  ASSERT_EQ(comparison.missing.size(), 2U);
  EXPECT_TRUE(comparison.missing[0].in_a);
  EXPECT_EQ(comparison.missing[0].agent, "random");
  EXPECT_EQ(comparison.missing[0].graphs.size(), 5U);
  EXPECT_FALSE(comparison.missing[1].in_a);
  EXPECT_EQ(comparison.missing[1].graphs, std::vector<std::string>{"g4"});
  EXPECT_THAT(write_terminal(comparison, false), HasSubstr("g0, g1, g2 and 2 more"));
}

TEST(RunComparison, TellsWhereInputsDiffer) {
  StoredRun b = run_of(2);
  b.manifest.starts.push_back({.build = {.version = "1.1.0", .git_revision = "def"}});
  b.manifest.problems[0].hash = "other hash";
  b.manifest.problems[1].step_hash = "other costs";
  b.manifest.suite.max_evaluations = 50;
  for (CellResult& result : b.results) {
    result.cell.max_evaluations = 50;
  }
  slow_down(b, "heft", "", 2);
  const RunComparison comparison = compare_runs(run_of(2), b, kThreshold);
  std::vector<std::string> told;
  for (const InputDifference& difference : comparison.differences) {
    told.push_back(fmt::format("{}: {} | {}", difference.what, difference.a, difference.b));
  }
  EXPECT_THAT(
      told,
      ::testing::ElementsAre(
          "program: 1.0.0 (git abc) | 1.0.0 (git abc), then 1.1.0 (git def)",
          "evaluations of heft: 1000 | 50", "groups, kinds or scopes of g0 on c: hash | other hash",
          "evaluations of random: 1000 | 50", "costs of g1 on c: step hash | other costs"));
  // What cannot be compared has a ratio, but no verdict, and is no pair.
  EXPECT_EQ(row_of(comparison, "heft", "g0").verdict, Verdict::kSlower);
  EXPECT_EQ(row_of(comparison, "heft", "g1").verdict, Verdict::kUnsure);
  EXPECT_NEAR(row_of(comparison, "heft", "g1").ratio->ratio, 2, 1e-12);
  EXPECT_EQ(row_of(comparison, "heft").pairs->pairs, 1);
  EXPECT_THAT(write_markdown(comparison), HasSubstr("costs differ"));
}

TEST(RunComparison, TakesWhateverTimesThereAre) {
  for (const double us : {0.0, 5e-324, 1.7e308}) {
    StoredRun b = run_of(3);
    for (CellResult& result : b.results) {
      result.step_time_us = us;
    }
    const RunComparison comparison = compare_runs(run_of(3), b, kThreshold);
    EXPECT_EQ(row_of(comparison, "heft", "g0").verdict,
              us > 1 ? Verdict::kSlower : Verdict::kFaster);
    EXPECT_THAT(write_terminal(comparison, false), ::testing::Not(HasSubstr("nan")));
  }
}

TEST(RunComparison, RefusesRunsThatHaveNothingInCommon) {
  StoredRun other = run_of(1);
  other.results.clear();
  expect_refused(run_of(1), other, "in common");
  StoredRun costs = run_of(1);
  costs.manifest.problems[0].step_hash = "other";
  expect_refused(run_of(1), costs, "g0 on c, so step times cannot be compared");
  StoredRun without = run_of(1);
  without.manifest.problems.clear();
  expect_refused(run_of(1), without, "no hash of the problem g0 on c");
}

TEST(RunComparison, WritesAllAsJson) {
  StoredRun b = run_of(3);
  slow_down(b, "heft", "g1", 1.03);
  const auto json = nlohmann::json::parse(write_json(compare_runs(run_of(3), b, kThreshold)));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["slower"], 1);
  EXPECT_EQ(json["over_graphs"][0]["pairs"], 3);
  EXPECT_EQ(json["by_graph"].size(), 6U);
  EXPECT_EQ(json["by_graph"][2]["agent"], "heft");
  EXPECT_EQ(json["by_graph"][2]["verdict"], "slower");
  EXPECT_TRUE(json["by_graph"][2]["significance"].is_null());
  EXPECT_TRUE(json["by_graph"][3]["significance"]["p"].is_number());
}

TEST(RunComparison, WritesNamesAsText) {
  StoredRun a = run_of(1);
  a.manifest.suite.name = "a\x1b[31m";
  const std::string text = write_terminal(compare_runs(a, run_of(1), kThreshold), false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace emplace::bench::run_comparison_test

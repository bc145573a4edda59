#include <emplace/base/error.hpp>
#include <emplace/bench/report.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace emplace::bench::family_report_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CellResult result_of(const std::string& graph, const std::string& agent, double step_time_us) {
  return {.cell = {.graph = graph, .cluster = "c", .agent = agent, .max_evaluations = 1000},
          .status = step_time_us > 0 ? CellStatus::kOk : CellStatus::kOutOfMemory,
          .step_time_us = step_time_us,
          .bound_us = 1000,
          .peak_bytes = {1},
          .evaluations = 10,
          .evaluations_to_best = 1};
}

// Six graphs of a family: b takes 1, 2, ... 6 % longer than a, and c twice as long, but for the
// last graph, which it cannot hold.
StoredRun example() {
  StoredRun run{.manifest = {.suite = {.name = "held-out",
                                       .families = {{.name = "cells", .train = {"t"}}},
                                       .clusters = {"c"},
                                       .agents = {{"c"}, {"b"}, {"a"}},
                                       .baselines = {"a"}},
                             .num_cells = 18}};
  for (int i = 1; i <= 6; ++i) {
    const std::string graph = "g" + std::to_string(i);
    run.manifest.suite.graphs.push_back({.graph = graph, .family = "cells"});
    const double time_us = 10'000.0 * i;
    run.results.push_back(result_of(graph, "c", i < 6 ? 2 * time_us : 0));
    run.results.push_back(result_of(graph, "b", time_us * (1 + 0.01 * i)));
    run.results.push_back(result_of(graph, "a", time_us));
  }
  return run;
}

const FamilyRow& row_of(const Report& report, const std::string& agent) {
  const auto& rows = report.families.at(0).rows;
  return *std::ranges::find(rows, agent, &FamilyRow::agent);
}

// On two of the six graphs b, which learns, has all groups on one device.
TEST(FamilyReport, CountsLearnedAnswersOnOneDevice) {
  StoredRun run = example();
  for (CellResult& result : run.results) {
    const bool collapsed = result.cell.graph == "g2" || result.cell.graph == "g5";
    result.problem_groups = 3;
    result.peak_bytes = {1, 1};
    result.placement = collapsed ? Placement(3, 1) : Placement(std::vector<DeviceId>{0, 1, 1});
    result.evaluations_per_episode = result.cell.agent == "b" ? 1 : 0;
  }
  const Report report = make_report(run);
  EXPECT_EQ(row_of(report, "a").on_one_device, 0);
  EXPECT_EQ(row_of(report, "b").on_one_device, 2);
  constexpr const char* kLine =
      "\n  b put all groups on one device, as single-gpu does: 2 of 6 graphs\n";
  EXPECT_THAT(write_terminal(report, false), HasSubstr(kLine));
  EXPECT_THAT(write_markdown(report), HasSubstr(kLine));
  const auto json = nlohmann::json::parse(write_json(report)).at("families").at(0);
  EXPECT_EQ(json.at("rows").at(1).at("agent"), "b");
  EXPECT_EQ(json.at("rows").at(1).at("on_one_device"), 2);
  EXPECT_THAT(write_terminal(make_report(example()), false), Not(HasSubstr("on one device")));
}

TEST(FamilyReport, HasMeansOverTheGraphs) {
  const Report report = make_report(example());
  ASSERT_EQ(report.families.size(), 1U);
  EXPECT_EQ(report.families[0].family, "cells");
  EXPECT_EQ(report.families[0].graphs, 6);
  EXPECT_DOUBLE_EQ(row_of(report, "a").all.value().mean_us, 35'000);
  EXPECT_DOUBLE_EQ(row_of(report, "a").all.value().over_best, 1);
  // The geometric mean of 1.01, 1.02, ... 1.06.
  EXPECT_NEAR(row_of(report, "b").all.value().over_best, 1.034859, 1e-6);
}

// c cannot hold g6, so it has no mean over all graphs, and the others have one over g1 to g5 too.
TEST(FamilyReport, ComparesAgentsThatLackGraphsOnTheCommonOnes) {
  const Report report = make_report(example());
  EXPECT_EQ(report.families[0].common_graphs, 5);
  EXPECT_EQ(row_of(report, "c").graphs, 5);
  EXPECT_FALSE(row_of(report, "c").all.has_value());
  EXPECT_DOUBLE_EQ(row_of(report, "c").common.value().mean_us, 60'000);  // of 20, 40, ... 100 ms
  EXPECT_DOUBLE_EQ(row_of(report, "c").common.value().over_best, 2);
  EXPECT_DOUBLE_EQ(row_of(report, "a").common.value().mean_us, 30'000);
  EXPECT_NEAR(row_of(report, "b").common.value().over_best, 1.029903, 1e-6);
  EXPECT_THAT(write_terminal(report, false), HasSubstr("on 5 common graphs [%]"));
  EXPECT_THAT(write_markdown(report), HasSubstr("| c | 5 | - | - | +100.0 | +100.0 | "));
}

TEST(FamilyReport, AnAgentWithoutAnyStepTimeLeavesTheCommonGraphsAsTheyAre) {
  StoredRun run = example();
  for (CellResult& result : run.results) {
    if (result.cell.agent == "c") {
      result.status = CellStatus::kFailed;
    }
  }
  const Report report = make_report(run);
  EXPECT_EQ(report.families[0].common_graphs, 6);
  EXPECT_FALSE(row_of(report, "c").common.has_value());
  EXPECT_THAT(write_terminal(report, false), Not(HasSubstr("common graphs")));
}

// a cannot hold g1 either, so no agent has all graphs and none is compared with.
TEST(FamilyReport, WithoutAReferenceThereAreNoColumnsForIt) {
  StoredRun run = example();
  run.manifest.suite.baselines.clear();
  for (CellResult& result : run.results) {
    const bool is_too_large =
        (result.cell.agent == "a" && result.cell.graph == "g1") || result.cell.agent == "b";
    result.status = is_too_large ? CellStatus::kOutOfMemory : result.status;
  }
  const Report report = make_report(run);
  EXPECT_EQ(report.families[0].reference, "");
  EXPECT_TRUE(std::ranges::none_of(report.families[0].rows, [](const FamilyRow& row) {
    return row.against_reference.has_value();
  }));
  for (const std::string& text :
       {write_terminal(report, false), write_markdown(report), write_latex(report)}) {
    EXPECT_THAT(text, Not(HasSubstr("baseline")));
    EXPECT_THAT(text, Not(HasSubstr("over ref")));
    EXPECT_THAT(text, Not(HasSubstr("corrected p")));
  }
}

// Of the p of 2/64 and 2/32 the lesser is doubled by Holm's correction, and is then the greater.
TEST(FamilyReport, CorrectsItsTestsForTheirNumber) {
  const Report report = make_report(example());
  EXPECT_DOUBLE_EQ(row_of(report, "b").corrected_p, 4.0 / 64);
  EXPECT_DOUBLE_EQ(row_of(report, "c").corrected_p, 2.0 / 32);
}

TEST(FamilyReport, GraphsThatAreOfNoFamilyAreComparedToo) {
  StoredRun run = example();
  run.manifest.suite.families.clear();
  run.manifest.suite.baselines.clear();
  for (SuiteGraph& graph : run.manifest.suite.graphs) {
    graph.family.clear();
  }
  const Report report = make_report(run);
  ASSERT_EQ(report.families.size(), 1U);
  EXPECT_EQ(report.families[0].family, "");
  EXPECT_EQ(report.families[0].reference, "a") << "the best of those with all graphs";
  EXPECT_EQ(row_of(report, "b").against_reference.value().greater, 6);
  const std::string text = write_terminal(report, false);
  EXPECT_THAT(text, HasSubstr("g3 on c"));
  EXPECT_THAT(text, HasSubstr("all graphs on c, 6 graphs"));
  EXPECT_THAT(text, HasSubstr("over a [%]"));

  run.manifest.suite.graphs.resize(1);
  run.results.resize(3);
  EXPECT_TRUE(make_report(run).families.empty()) << "one graph";
}

TEST(FamilyReport, PairsEveryAgentWithTheBaselineOnTheSameGraphs) {
  const Report report = make_report(example());
  EXPECT_FALSE(row_of(report, "a").against_reference.has_value());
  const PairedComparison& b = row_of(report, "b").against_reference.value();
  EXPECT_EQ(b.pairs, 6);
  EXPECT_EQ(b.less, 0);
  EXPECT_EQ(b.greater, 6);
  EXPECT_DOUBLE_EQ(b.p, 2.0 / 64);  // six of one sign
  EXPECT_EQ(row_of(report, "c").against_reference.value().pairs, 5);
  EXPECT_DOUBLE_EQ(row_of(report, "c").against_reference.value().p, 2.0 / 32);
}

TEST(FamilyReport, RowsGoFromTheNearestToTheBestAndThoseWithFewerGraphsLast) {
  const Report report = make_report(example());
  std::vector<std::string> agents;
  for (const FamilyRow& row : report.families.at(0).rows) {
    agents.push_back(row.agent);
  }
  EXPECT_THAT(agents, ElementsAre("a", "b", "c"));
}

TEST(FamilyReport, TheTerminalShowsFamiliesAndMarkdownEveryGraphToo) {
  const Report report = make_report(example());
  const std::string terminal = write_terminal(report, false);
  EXPECT_THAT(terminal, HasSubstr("cells on c, 6 test graphs"));
  EXPECT_THAT(terminal, Not(HasSubstr("g3 on c")));
  const std::string markdown = write_markdown(report);
  EXPECT_THAT(markdown, HasSubstr("## cells on c, 6 test graphs"));
  EXPECT_THAT(markdown, HasSubstr("| b | 6 | 36.5 | +3.5 | +3.0 | +3.5 | "));
  EXPECT_THAT(markdown, HasSubstr("| 0 | 6 | 0.031 | 0.062 |"));
  EXPECT_THAT(markdown, HasSubstr("## g3 on c"));
}

TEST(FamilyReport, JsonHasTheCurves) {
  const auto json = nlohmann::json::parse(write_json(make_report(example())));
  const auto& b = json.at("families").at(0).at("rows").at(1);
  EXPECT_EQ(b.at("agent"), "b");
  const auto curve = b.at("times_best").get<std::vector<double>>();
  ASSERT_EQ(curve.size(), 6U);
  EXPECT_THAT(curve.front(), DoubleNear(1.01, 1e-12));
  EXPECT_THAT(curve.back(), DoubleNear(1.06, 1e-12));
  EXPECT_EQ(b.at("against_reference").at("slower"), 6);
}

}  // namespace
}  // namespace emplace::bench::family_report_test

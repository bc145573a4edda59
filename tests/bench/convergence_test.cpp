#include <emplace/bench/convergence.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace emplace::bench::convergence_test {
namespace {

using ::testing::ElementsAre;

constexpr double kNone = std::numeric_limits<double>::infinity();

Improvement improved(std::int64_t evaluations, double seconds, double step_time_us,
                     agents::EvaluationStatus status = agents::EvaluationStatus::kOk) {
  return {.evaluations = evaluations,
          .evaluation = {.status = status, .step_time_us = step_time_us},
          .seconds = seconds};
}

CellResult searched(std::int64_t repetition, std::vector<Improvement> history, double wall_s) {
  CellResult result{.cell = {.graph = "g",
                             .cluster = "c",
                             .agent = "hill-climb",
                             .repetition = repetition,
                             .max_evaluations = 1000},
                    .step_time_us = history.back().evaluation.step_time_us,
                    .evaluations = 100,
                    .wall_s = wall_s};
  result.history = std::move(history);
  return result;
}

StoredRun run_of(std::vector<CellResult> results) {
  return {.manifest = {.suite = {.name = "example",
                                 .graphs = {{"g"}},
                                 .clusters = {"c"},
                                 .agents = {{"heft"}, {"hill-climb"}},
                                 .repetitions = 3}},
          .results = std::move(results)};
}

TEST(Convergence, IsTheMedianLeastAndLargestOfTheBestSoFar) {
  const StoredRun run = run_of({searched(0, {improved(1, 0.5, 90), improved(20, 2, 50)}, 4),
                                searched(1, {improved(1, 0.25, 80), improved(30, 3, 60)}, 5),
                                searched(2, {improved(10, 1, 70)}, 6)});
  const auto all = convergence_of(run);
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].curves.size(), 1U);
  const ConvergenceCurve& curve = all[0].curves[0];
  EXPECT_EQ(curve.agent, "hill-climb");
  EXPECT_EQ(curve.repetitions, 3);
  // Best so far after 1 evaluation: 90, 80 and none; after 10: 90, 80, 70; 20: 50, 80, 70; 30: 50,
  // 60, 70, which stay until the end.
  EXPECT_THAT(curve.by_evaluations,
              ElementsAre(ConvergencePoint{1, 90, 80, kNone}, ConvergencePoint{10, 80, 70, 90},
                          ConvergencePoint{20, 70, 50, 80}, ConvergencePoint{30, 60, 50, 70},
                          ConvergencePoint{100, 60, 50, 70}));
  EXPECT_THAT(
      curve.by_seconds,
      ElementsAre(ConvergencePoint{0.25, kNone, 80, kNone}, ConvergencePoint{0.5, 90, 80, kNone},
                  ConvergencePoint{1, 80, 70, 90}, ConvergencePoint{2, 70, 50, 80},
                  ConvergencePoint{3, 60, 50, 70}, ConvergencePoint{6, 60, 50, 70}));
}

TEST(Convergence, BeginsWhereAPlacementFits) {
  const auto full = agents::EvaluationStatus::kOutOfMemory;
  const auto all =
      convergence_of(run_of({searched(0, {improved(1, 0.5, 30, full), improved(7, 1, 90)}, 1)}));
  EXPECT_THAT(all.at(0).curves.at(0).by_evaluations,
              ElementsAre(ConvergencePoint{7, 90, 90, 90}, ConvergencePoint{100, 90, 90, 90}));
}

TEST(Convergence, OfAnAgentWithoutEvaluationsIsOnePoint) {
  const CellResult heft{
      .cell = {.graph = "g", .cluster = "c", .agent = "heft", .max_evaluations = 1000},
      .step_time_us = 40,
      .wall_s = 0.125};
  const auto all = convergence_of(run_of({heft}));
  ASSERT_EQ(all.at(0).curves.size(), 1U);
  EXPECT_THAT(all[0].curves[0].by_evaluations, ElementsAre(ConvergencePoint{0, 40, 40, 40}));
  EXPECT_THAT(all[0].curves[0].by_seconds, ElementsAre(ConvergencePoint{0.125, 40, 40, 40}));
}

TEST(Convergence, LeavesOutWhatDoesNotFit) {
  CellResult full = searched(0, {improved(1, 0.5, 30)}, 1);
  full.status = CellStatus::kOutOfMemory;
  CellResult failed = searched(1, {improved(1, 0.5, 30)}, 1);
  failed.status = CellStatus::kFailed;
  const auto all = convergence_of(run_of({full, failed}));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].curves.empty());
}

}  // namespace
}  // namespace emplace::bench::convergence_test

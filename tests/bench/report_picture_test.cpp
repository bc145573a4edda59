#include <emplace/base/error.hpp>
#include <emplace/bench/report_picture.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::bench::report_picture_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CellResult result_of(const std::string& graph, const std::string& agent, double step_time_us) {
  return {.cell = {.graph = graph, .cluster = "c", .agent = agent, .max_evaluations = 1000},
          .step_time_us = step_time_us,
          .bound_us = 1000};
}

// Agent b takes 1.5 times as long as a on both graphs; neither searches.
StoredRun example() {
  StoredRun run{.manifest = {.suite = {.name = "pair",
                                       .graphs = {{"g1"}, {"g2"}},
                                       .clusters = {"c"},
                                       .agents = {{"b"}, {"a"}}},
                             .num_cells = 4}};
  for (const std::string graph : {"g1", "g2"}) {
    run.results.push_back(result_of(graph, "b", 1.5e6));
    run.results.push_back(result_of(graph, "a", 1e6));
  }
  return run;
}

// On g1, a finds 2 s after 10 evaluations and 1 s after 100.
StoredRun searched() {
  StoredRun run = example();
  CellResult& a = run.results[1];
  a.evaluations = 1000;
  a.wall_s = 5;
  const auto found = [](std::int64_t evaluations, double step_time_us, double seconds) {
    return Improvement{
        .evaluations = evaluations,
        .evaluation = {.status = agents::EvaluationStatus::kOk, .step_time_us = step_time_us},
        .seconds = seconds};
  };
  a.history = {found(10, 2e6, 0.1), found(100, 1e6, 0.5)};
  return run;
}

std::string draw(const StoredRun& run, ReportPlots plots) {
  return draw_report(run, make_report(run), plots);
}

void expect_nothing_to_draw(const StoredRun& run, ReportPlots plots, const char* message) {
  try {
    draw(run, plots);
    FAIL() << "drawn";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

// Up to twice as long is shown: on 560 pixels, 1.5 is in the middle.
TEST(ReportPicture, AProfileClimbsAStepForEachGraph) {
  const std::string svg = draw(example(), ReportPlots::kProfiles);
  EXPECT_THAT(svg, HasSubstr("all graphs on c"));
  EXPECT_THAT(svg, HasSubstr("0,360 560,360 560,180 560,180 560,0"));
}

// From 1 to 1000 evaluations on 560 pixels, 10 and 100 are at thirds. From 1 s to
// 2 s, 1.5 s is in the middle.
TEST(ReportPicture, ConvergenceGoesDownAtEachImprovement) {
  const std::string svg = draw(searched(), ReportPlots::kEvaluations);
  EXPECT_THAT(svg, HasSubstr("g1 on c"));
  EXPECT_THAT(svg, Not(HasSubstr("g2 on c"))) << "nothing was searched there";
  EXPECT_THAT(svg, HasSubstr("\"186.7,0 373.3,0 373.3,360 560,360 560,360\""));
  EXPECT_THAT(svg, HasSubstr("\"0,180 560,180\"")) << "b, which does not search";
}

TEST(ReportPicture, ConvergenceOverSecondsHasAnAxisOfItsOwn) {
  EXPECT_THAT(draw(searched(), ReportPlots::kSeconds), HasSubstr("seconds of the search"));
}

TEST(ReportPicture, AllIsProfilesAndConvergence) {
  const std::string svg = draw(searched(), ReportPlots::kAll);
  EXPECT_THAT(svg, HasSubstr("all graphs on c"));
  EXPECT_THAT(svg, HasSubstr("g1 on c"));
}

TEST(ReportPicture, PublishedFiguresAreRings) {
  StoredRun run = searched();
  run.manifest.suite.published = Published{
      .source = "s",
      .figures = {
          {.graph = "g1", .cluster = "c", .agent = "a", .step_time_s = 1.5, .evaluations = 10}}};
  EXPECT_THAT(draw(run, ReportPlots::kEvaluations),
              HasSubstr("a, published: 1.5 s after 10 evaluations"));
}

// Ops may cost nothing, or next to nothing.
TEST(ReportPicture, IsDrawnWhateverTheTimes) {
  for (const double us : {0.0, 5e-324, 1e-9, 1e307}) {
    StoredRun run = searched();
    for (CellResult& result : run.results) {
      result.step_time_us = us;
      result.bound_us = us;
      for (Improvement& improvement : result.history) {
        improvement.evaluation.step_time_us = us;
      }
    }
    const std::string svg = draw(run, ReportPlots::kAll);
    EXPECT_THAT(svg, HasSubstr("g1 on c")) << us;
    EXPECT_THAT(svg, Not(HasSubstr("nan"))) << us;
    EXPECT_THAT(svg, Not(HasSubstr("inf"))) << us;
  }
}

TEST(ReportPicture, SaysWhyThereIsNothingToDraw) {
  StoredRun run = example();
  expect_nothing_to_draw(run, ReportPlots::kEvaluations,
                         "as evaluations: profiles need two graphs");
  run.results.clear();
  expect_nothing_to_draw(run, ReportPlots::kAll, "suite 'pair'");
}

TEST(ReportPicture, NamesOfPlotsAreReadAsTheyAreWritten) {
  for (const std::string& name : report_plots_names()) {
    EXPECT_EQ(to_string(report_plots_of(name)), name);
  }
  EXPECT_THROW(report_plots_of("profile"), Error);
}

}  // namespace
}  // namespace emplace::bench::report_picture_test

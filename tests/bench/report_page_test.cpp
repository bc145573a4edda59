#include "support/problems.hpp"

#include <emplace/bench/report_page.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace emplace::bench::report_page_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHostile = "</script><b>&\xe2\x80\xa8";

StoredRun run_of(const std::string& agent_name) {
  CellResult slow{
      .cell = {.graph = "g", .cluster = "c", .agent = "random", .max_evaluations = 1000},
      .step_time_us = 2000,
      .bound_us = 1000,
      .peak_bytes = {1},
      .evaluations = 10,
      .wall_s = 0.5};
  slow.history = {{.evaluations = 3,
                   .evaluation = {.status = agents::EvaluationStatus::kOk, .step_time_us = 2000},
                   .seconds = 0.25}};
  CellResult fast = slow;
  fast.cell.agent = "heft";
  fast.step_time_us = 1500;
  fast.evaluations = 0;
  fast.history.clear();
  return {.manifest = {.suite = {.name = "example",
                                 .graphs = {{"g"}},
                                 .clusters = {"c"},
                                 .agents = {{"random"}, {"heft", agent_name}}},
                       .num_cells = 2,
                       .starts = {{.arguments = {"emplace", "run", "x"}}}},
          .results = {slow, fast}};
}

std::string page_of(const StoredRun& run, const std::vector<PageStep>& steps = {}) {
  return write_html(make_report(run), run, steps);
}

// The contents of a JSON element of the page.
json element_of(const std::string& page, const std::string& id) {
  const std::string mark = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t begin = page.find(mark);
  if (begin == std::string::npos) {
    return nullptr;
  }
  const std::size_t from = begin + mark.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t number = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++number;
  }
  return number;
}

TEST(ReportPage, HasTheFiguresOfTheReport) {
  const StoredRun run = run_of("");
  const json data = element_of(page_of(run), "data");
  json report = data.at("report");
  EXPECT_EQ(report["tables"][0]["rows"][0]["wall_s"], 0.5);
  for (json& row : report["tables"][0]["rows"]) {
    row.erase("wall_s");
    row.erase("note");
  }
  EXPECT_EQ(report, json::parse(write_json(make_report(run))));
  EXPECT_EQ(data["agents"][1]["label"], "heft");
  EXPECT_EQ(data["agents"][1]["color"], "#e69f00");
  EXPECT_EQ(data["overall"]["rows"][1]["against_best"]["ratio"], 2000.0 / 1500);
  // [at, median, least, largest]
  EXPECT_EQ(data["convergence"][0]["curves"][0]["by_evaluations"],
            json::parse("[[3.0, 2000.0, 2000.0, 2000.0], [10.0, 2000.0, 2000.0, 2000.0]]"));
}

TEST(ReportPage, NamesAreText) {
  const std::string plain = page_of(run_of("plain"));
  const std::string page = page_of(run_of(kHostile), {{.graph = kHostile, .missing = kHostile}});
  EXPECT_EQ(count(page, "</script"), count(plain, "</script"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("\xe2\x80\xa8")));
  const json data = element_of(page, "data");
  EXPECT_EQ(data["agents"][1]["label"], kHostile);
  EXPECT_EQ(data["steps"][0]["missing"], kHostile);
}

// The page reads back as JSON, so it holds no nan and no inf.
TEST(ReportPage, HoldsWhateverTimesThereAre) {
  for (const double us : {0.0, 5e-324, 1e307}) {
    StoredRun run = run_of("");
    for (CellResult& result : run.results) {
      result.step_time_us = us;
      result.bound_us = us;
      for (Improvement& improvement : result.history) {
        improvement.evaluation.step_time_us = us;
      }
    }
    const json data = element_of(page_of(run), "data");
    EXPECT_EQ(data["convergence"][0]["curves"][0]["by_evaluations"][0][1], us);
  }
}

TEST(ReportPage, NeedsNoOtherFile) {
  const std::string page = page_of(run_of(""));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr(" src=\"")));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, Not(HasSubstr("@script@")));
}

TEST(ReportPage, KeepsEachStepInAnElementOfItsOwn) {
  const std::string page = page_of(run_of(""), {{.graph = "g", .cluster = "c", .data = "{\"x\":1}"},
                                                {.graph = "h", .missing = "it failed"}});
  const json data = element_of(page, "data");
  EXPECT_EQ(data["steps"][0]["data"], "step-0");
  EXPECT_EQ(element_of(page, "step-0"), json({{"x", 1}}));
  EXPECT_TRUE(data["steps"][1]["data"].is_null());
  EXPECT_EQ(data["steps"][1]["missing"], "it failed");
}

// a, b and d on one device, c on the other: 10 bytes from a to c, and from c to d. a runs for 100
// us, b for 200 on the first; c from 110 to 310 on the second, then d from 320 to 370.
TEST(ReportPage, DescribesAStep) {
  const Problem problem = test::make_problem(test::diamond_graph(10));
  const json step =
      json::parse(describe_step(problem, Simulator(problem).record(Placement({0, 0, 1, 0}))));
  EXPECT_EQ(step["makespan_us"], 370);
  EXPECT_THAT(step["ops"]["start"], ElementsAre(0, 100, 110, 320));
  EXPECT_THAT(step["ops"]["end"], ElementsAre(100, 300, 310, 370));
  EXPECT_THAT(step["ops"]["cost"], ElementsAre(100, 200, 200, 50));
  EXPECT_THAT(step["ops"]["lane"], ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(step["ops"]["source"], ::testing::Each("measured"));
  ASSERT_EQ(step["lanes"].size(), 4U);
  EXPECT_EQ(step["lanes"][0]["name"], "gpu:0");
  EXPECT_EQ(step["lanes"][0]["busy"], 350.0 / 370);
  EXPECT_EQ(step["lanes"][2]["name"], "gpu:0 sends");
  EXPECT_THAT(step["transfers"]["start"], ElementsAre(100, 310));
  EXPECT_THAT(step["transfers"]["end"], ElementsAre(110, 320));
  EXPECT_THAT(step["transfers"]["bytes"], ElementsAre(10, 10));
  EXPECT_EQ(step["transfers"]["lanes"], json::parse("[[[2, 0]], [[3, 0]]]"));
  // a, its transfer, c, its transfer, d.
  EXPECT_THAT(step["path"]["from"], ElementsAre(0, 100, 110, 310, 320));
  EXPECT_THAT(step["path"]["lane"], ElementsAre(0, 2, 1, 3, 0));
  EXPECT_THAT(step["groups"]["device"], ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(step["groups"]["edges"]["from"], ElementsAre(0, 0, 1, 2));
  // a before b and c, and d behind them.
  EXPECT_LT(step["groups"]["x"][0], step["groups"]["x"][1]);
  EXPECT_EQ(step["groups"]["x"][1], step["groups"]["x"][2]);
  EXPECT_LT(step["groups"]["x"][2], step["groups"]["x"][3]);
  EXPECT_NE(step["groups"]["y"][1], step["groups"]["y"][2]);
}

}  // namespace
}  // namespace emplace::bench::report_page_test

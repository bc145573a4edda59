#include <emplace/bench/result_tables.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emplace::bench::result_tables_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A run of one agent, which its suite calls "mine".
StoredRun run_of(CellResult result) {
  StoredRun run;
  run.manifest.suite = {.graphs = {{.graph = result.cell.graph}},
                        .clusters = {"c"},
                        .agents = {{.agent = "heft", .name = "mine"}},
                        .max_evaluations = 10};
  run.results.push_back(std::move(result));
  return run;
}

CellResult result_of(const std::string& graph) {
  const Placement placement({0, 0, 1});
  return {.cell = {.graph = graph, .cluster = "c", .agent = "heft", .max_evaluations = 10},
          .step_time_us = 0.1,
          .bound_us = 1.0 / 3,
          .peak_bytes = {7, 11},
          .evaluations = 9,
          .problem_groups = 3,
          .decision_groups = 3,
          .placement_hash = hash_of(placement),
          .wall_s = 0.5,
          .placement = placement,
          .history = {{.evaluations = 2,
                       .evaluation = {.status = agents::EvaluationStatus::kOutOfMemory,
                                      .step_time_us = 100,
                                      .bytes_over = 1000},
                       .seconds = 0.25},
                      {.evaluations = 5,
                       .evaluation = {.status = agents::EvaluationStatus::kOk, .step_time_us = 0.1},
                       .seconds = 0.5}}};
}

TEST(ResultTables, CellsHaveARowEach) {
  const StoredRun run = run_of(result_of("g"));
  const std::string id = run.results[0].cell.id();
  const std::string hash = run.results[0].placement_hash;
  EXPECT_EQ(
      write_csv(result_tables()[0], run),
      "id,graph,cluster,agent,label,repetition,max_evaluations,groups,grouping,root_seed,policy,"
      "training,learns,status,message,step_time_us,bound_us,peak_bytes,evaluations,"
      "evaluations_to_best,evaluations_to_near_best,evaluations_per_episode,problem_groups,"
      "decision_groups,placement_hash,placement,wall_s,is_fastest\r\n" +
          id + ",g,c,heft,mine,0,10,0,colocation,0,,,,ok,,0.1,0.3333333333333333,11,9,0,0,0,3,3," +
          hash + ",0*2 1,0.5,1\r\n");
}

TEST(ResultTables, HistoriesHaveARowForEachImprovement) {
  const StoredRun run = run_of(result_of("g"));
  const std::string id = run.results[0].cell.id();
  // 2 s for each 10^9 bytes over: 1000 bytes are 2 us.
  EXPECT_EQ(write_csv(result_tables()[1], run),
            "id,evaluations,seconds,objective_us,step_time_us,bytes_over\r\n" + id +
                ",2,0.25,102,100,1000\r\n" + id + ",5,0.5,0.1,0.1,0\r\n");
}

TEST(ResultTables, WhatAFailedCellLacksIsEmpty) {
  CellResult failed = result_of("g");
  failed.status = CellStatus::kFailed;
  failed.message = "out of luck";
  failed.placement = {};
  EXPECT_THAT(write_csv(result_tables()[0], run_of(failed)),
              HasSubstr(",failed,out of luck,,,,9,0,0,0,,,,,0.5,0\r\n"));
}

TEST(ResultTables, PoliciesAreTold) {
  StoredRun run;
  run.manifest.suite = {
      .graphs = {{.graph = "g", .family = "f"}},
      .families = {{.name = "f", .train = {"t"}}},
      .clusters = {"c"},
      .policies = {{.name = "net", .agent = "placeto:preset=released"}},
      .agents = {{.agent = "placeto:preset=released", .policy = "net", .learns = false}},
      .max_evaluations = 10};
  CellResult result = result_of("g");
  result.cell = cells_of(run.manifest.suite, 0).front();
  run.results = {result};
  EXPECT_THAT(write_csv(result_tables()[0], run),
              HasSubstr(",net," + result.cell.training + ",0,ok,"));
}

TEST(ResultTables, CsvQuotesWhatWouldEndAField) {
  EXPECT_THAT(write_csv(result_tables()[0], run_of(result_of("a,\"b\"\nc"))),
              HasSubstr(",\"a,\"\"b\"\"\nc\",c,"));
}

TEST(ResultTables, AnEmptyRunHasEmptyTables) {
  EXPECT_EQ(write_csv(result_tables()[1], {}),
            "id,evaluations,seconds,objective_us,step_time_us,bytes_over\r\n");
  EXPECT_THAT(write_sqlite({}), StartsWith("SQLite format 3"));
}

}  // namespace
}  // namespace emplace::bench::result_tables_test

#include <emplace/bench/cost_model.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/suite_costs.hpp>
#include <emplace/graphs/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <string>

namespace emplace::bench::cost_model_test {
namespace {

using ::testing::HasSubstr;

std::string file_of(const std::string& agents) {
  return R"({"schema": "emplace-speeds", "version": 3, "comment": "",
             "recorded": {"time": "2026-01-01", "cpu": "some", "git_revision": "0", "cells": 1},
             "agents": [)" +
         agents + "]}";
}

const char* const kAgents =
    R"({"agent": "random", "us": 100, "ops_exponent": 1, "groups_exponent": 0,
        "devices_exponent": 0, "physical": 2, "mb": 0.1, "kb_per_op": 0, "kb_per_group": 0},
       {"agent": "placeto", "us": 50, "ops_exponent": 0.5, "groups_exponent": 0,
        "devices_exponent": 1, "physical": 2, "mb": 1, "kb_per_op": 0.5, "kb_per_group": 2},
       {"agent": "placeto:preset=paper", "us": 400, "ops_exponent": 0, "groups_exponent": 2,
        "devices_exponent": 0, "physical": 2, "mb": 3, "kb_per_op": 0, "kb_per_group": 100},
       {"agent": "heft", "us": 1000, "ops_exponent": 2, "groups_exponent": 0,
        "devices_exponent": 0, "physical": 2, "mb": 0, "kb_per_op": 0.2, "kb_per_group": 0})";

CostModel model() { return CostModel::read(file_of(kAgents), "test"); }

constexpr ProblemSize kUsual{.ops = 1000, .groups = 128, .devices = 4};

TEST(CostModel, CountsEvaluationsOfAgentsThatMakeThem) {
  EXPECT_DOUBLE_EQ(model().seconds("random", 200, kUsual, false), 0.02);
  EXPECT_DOUBLE_EQ(model().seconds("heft", 200, kUsual, false), 0.001);
}

TEST(CostModel, GrowsWithOpsAndDevices) {
  EXPECT_NEAR(model().seconds("placeto", 100, {.ops = 4000, .devices = 8}, false),
              50e-6 * 100 * 2 * 2, 1e-12);
  EXPECT_NEAR(model().seconds("heft", 1, {.ops = 2000, .devices = 8}, false), 4e-3, 1e-12);
}

// The agent decides on 128 groups where nobody said how many there are.
TEST(CostModel, GrowsWithTheGroupsOnWhichAnAgentDecides) {
  const ProblemSize fine{.ops = 1000, .groups = 1280, .devices = 4};
  const auto seconds = [&](const char* agent, bool groups_are_given) {
    return model().seconds(agent, 1, fine, groups_are_given);
  };
  EXPECT_DOUBLE_EQ(seconds("placeto:preset=paper", false), 400e-6);
  EXPECT_NEAR(seconds("placeto:preset=paper", true), 100 * 400e-6, 1e-12);
  EXPECT_NEAR(seconds("placeto:preset=paper,groups=64", true), 400e-6 / 4, 1e-12);
}

TEST(CostModel, TellsMemoryByOpsAndTheGroupsOnWhichAnAgentDecides) {
  const ProblemSize fine{.ops = 1000, .groups = 1280, .devices = 4};
  EXPECT_EQ(model().bytes("placeto", fine, false), 1'000'000 + 500'000 + 2'560'000);
  EXPECT_EQ(model().bytes("placeto:preset=paper", fine, false), 3'000'000 + 12'800'000);
  EXPECT_EQ(model().bytes("placeto:preset=paper", fine, true), 3'000'000 + 128'000'000);
  EXPECT_EQ(model().bytes("etf", fine, false), 200'000) << "that of the only heuristic";
}

TEST(CostModel, KnowsTheEngine) {
  ProblemSize size = kUsual;
  size.is_physical = true;
  EXPECT_DOUBLE_EQ(model().seconds("heft", 1, size, false), 2e-3);
}

TEST(CostModel, FallsBackOnTheNearestAgent) {
  EXPECT_EQ(model().source_of("placeto:preset=paper"), SpeedSource::kRecorded);
  EXPECT_EQ(model().source_of("placeto:preset=paper,rounds=1"), SpeedSource::kOtherParameters);
  EXPECT_DOUBLE_EQ(model().seconds("placeto:preset=paper,rounds=1", 1, kUsual, false), 400e-6);
  EXPECT_DOUBLE_EQ(model().seconds("placeto:rounds=1", 1, kUsual, false), 50e-6);
  EXPECT_EQ(model().source_of("post"), SpeedSource::kGuessed);
  EXPECT_DOUBLE_EQ(model().seconds("post", 1, kUsual, false), 100e-6)
      << "the median of 50, 100 and 400";
  EXPECT_DOUBLE_EQ(model().seconds("etf", 7, kUsual, false), 1e-3);
}

TEST(CostModel, AddsTheDrawsOfUncertainCosts) {
  Cell cell{.agent = "heft", .max_evaluations = 10};
  ProblemSize size = kUsual;
  const double exact = model().seconds(cell, size);
  size.has_spreads = true;
  EXPECT_DOUBLE_EQ(model().seconds(cell, size), exact + 100e-6 * kCellReplicas);
  EXPECT_GT(expected_bytes(cell, size), expected_bytes(cell, kUsual));
}

TEST(CostModel, RefusesFilesThatSayTooLittle) {
  const auto refused = [](const std::string& agents, const std::string& why) {
    try {
      CostModel::read(file_of(agents), "speeds");
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFormat);
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  refused("", "expected 'random'");
  refused(std::string(kAgents) + "," + kAgents, "already in the file");
  refused(R"({"agent": "random", "us": -1, "ops_exponent": 1, "groups_exponent": 0,
        "devices_exponent": 0, "physical": 2, "mb": 0, "kb_per_op": 0, "kb_per_group": 0})",
          "/us");
}

TEST(CostModel, KnowsTheSpeedsOfAllAgents) {
  for (const std::string& suite : suite_names()) {
    for (const SuiteAgent& agent : load_suite(suite).agents) {
      EXPECT_NE(CostModel::shipped().source_of(agent.agent), SpeedSource::kGuessed)
          << agent.agent.text() << ": run bench/speeds/write_speeds.py";
    }
  }
}

// Two cells without a policy on each graph, and two from each of two trainings.
const Suite kSuite{
    .name = "small",
    .graphs = {{.graph = "cifar10:split=test,member=0", .groups = 10, .family = "cells"},
               {.graph = "cifar10:split=test,member=1", .groups = 10, .family = "cells"}},
    .families = {{.name = "cells", .train = {"cifar10:member=0"}, .groups = 10}},
    .clusters = {"p2-8xlarge-2"},
    .policies = {{.name = "net", .agent = "placeto:preset=released,rounds=1", .episodes = 2}},
    .agents = {{"random"}, {.agent = "placeto:preset=released,rounds=1", .policy = "net"}},
    .repetitions = 2,
    .max_evaluations = 22};

TEST(SuiteCosts, KeepAPolicyWithTheCellsThatStartFromIt) {
  const SuiteCosts costs = costs_of(kSuite, 3);
  ASSERT_EQ(costs.cells.size(), 8U);
  ASSERT_EQ(costs.trainings.size(), 2U);
  EXPECT_GT(costs.trainings_us[0], 0);
  EXPECT_GT(costs.policies_bytes[0], 0);
  EXPECT_GT(costs.trainings_bytes[0], costs.policies_bytes[0]);
  EXPECT_GT(costs.cells_bytes[0], 0);
  EXPECT_EQ(costs.sizes[0].groups, 10);
  std::set<std::size_t> cells;
  std::set<std::size_t> trainings;
  std::int64_t cost_us = 0;
  for (const Piece& piece : costs.pieces()) {
    cost_us += piece.cost_us;
    for (const std::size_t cell : piece.cells) {
      EXPECT_TRUE(cells.insert(cell).second);
      const std::string& training = costs.cells[cell].training;
      EXPECT_EQ(training.empty(), piece.trainings.empty());
      if (!training.empty()) {
        EXPECT_EQ(training, hash_of(costs.trainings[piece.trainings.front()].plan));
      }
    }
    for (const std::size_t at : piece.trainings) {
      EXPECT_TRUE(trainings.insert(at).second) << "trained twice";
    }
  }
  EXPECT_EQ(cells.size(), 8U);
  EXPECT_EQ(trainings.size(), 2U);
  EXPECT_EQ(cost_us, std::reduce(costs.cells_us.begin(), costs.cells_us.end()) +
                         std::reduce(costs.trainings_us.begin(), costs.trainings_us.end()));
}

TEST(SuiteCosts, HashTheProblemsAsARunDoes) {
  const SuiteCosts costs = costs_of(kSuite, 3);
  std::vector<ProblemHash> hashes = ProblemSet(costs.cells).hashes();
  const std::vector<ProblemHash> trained = hash_trained(kSuite, costs.trainings, hashes);
  hashes.insert(hashes.end(), trained.begin(), trained.end());
  EXPECT_EQ(costs.problems, hashes);
}

}  // namespace
}  // namespace emplace::bench::cost_model_test

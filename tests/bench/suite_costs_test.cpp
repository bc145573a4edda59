#include "bench/small_suite.hpp"

#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/suite_costs.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>

namespace emplace::bench {
namespace {

constexpr ProblemSize kUsual{.ops = 1000, .groups = 128};

TEST(SuiteCosts, WorkIsSimulationsTimesOps) {
  const Cell search{.agent = "random", .max_evaluations = 200};
  EXPECT_EQ(evaluations_of(search), 200);
  EXPECT_EQ(work_of(search, kUsual), 200'000);
  const Cell rule{.agent = "heft", .max_evaluations = 200};
  EXPECT_EQ(evaluations_of(rule), 0);
  EXPECT_EQ(work_of(rule, kUsual), 1000);
}

TEST(SuiteCosts, AddTheDrawsOfUncertainCosts) {
  const Cell cell{.agent = "heft", .max_evaluations = 10};
  ProblemSize size = kUsual;
  size.has_spreads = true;
  EXPECT_EQ(work_of(cell, size), 1000 * (1 + kCellDraws));
  EXPECT_GT(expected_bytes(cell, size), expected_bytes(cell, kUsual));
}

TEST(SuiteCosts, KeepAPolicyWithTheCellsThatStartFromIt) {
  int problems = 0;
  const SuiteCosts costs = costs_of(small_suite(), 3, [&](const Problem&) { ++problems; });
  ASSERT_EQ(costs.cells.size(), 8U);
  ASSERT_EQ(costs.trainings.size(), 2U);
  EXPECT_GT(costs.trainings_evaluations[0], 0);
  EXPECT_GT(costs.trainings_work[0], static_cast<double>(costs.trainings_evaluations[0]));
  EXPECT_GT(costs.policies_bytes[0], 0);
  EXPECT_EQ(costs.sizes[0].groups, 10);
  EXPECT_EQ(problems, 2);
  std::set<std::size_t> cells;
  std::set<std::size_t> trainings;
  double work = 0;
  for (const Piece& piece : costs.pieces()) {
    work += piece.work;
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
  EXPECT_EQ(work, std::reduce(costs.cells_work.begin(), costs.cells_work.end()) +
                      std::reduce(costs.trainings_work.begin(), costs.trainings_work.end()));
}

TEST(SuiteCosts, HashTheProblemsAsARunDoes) {
  const SuiteCosts costs = costs_of(small_suite(), 3);
  std::vector<ProblemHash> hashes = ProblemSet(costs.cells).hashes();
  const std::vector<ProblemHash> trained = hash_trained(small_suite(), costs.trainings, hashes);
  hashes.insert(hashes.end(), trained.begin(), trained.end());
  EXPECT_EQ(costs.problems, hashes);
}

}  // namespace
}  // namespace emplace::bench

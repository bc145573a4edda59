#include "support/problems.hpp"

#include <emplace/base/error.hpp>
#include <emplace/bench/executor.hpp>
#include <emplace/bench/grouping_comparison.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace emplace::bench::grouping_comparison_test {
namespace {

TEST(GroupingNumbers, AreTheGroupsTheCutAndTheLargestShare) {
  // A chain of 100, 200 and 700 us with 8 bytes on each edge; the last two ops are one group.
  auto graph = std::make_shared<const OpGraph>(test::chain_graph({100, 200, 700}, 8));
  const Problem problem(graph, Grouping({0, 1, 1}), test::make_cluster({}));
  const GroupingNumbers numbers = numbers_of(problem);
  EXPECT_EQ(numbers.groups, 2);
  EXPECT_EQ(numbers.cut_bytes, 8);
  EXPECT_DOUBLE_EQ(numbers.largest_share, 0.9);
}

TEST(CompareGroupings, FindsNothingBetterWithAGroupingThanWithout) {
  const GroupingComparison comparison =
      compare_groupings("inception-v3:batch=2", "p2-8xlarge-2", 16, 200, 0);
  ASSERT_EQ(comparison.groupings.size(), grouping_strategies().size());
  ASSERT_TRUE(comparison.best_step_time_us);
  double least = *comparison.groupings.front().lost_parallelism;
  for (const ComparedGrouping& grouping : comparison.groupings) {
    ASSERT_EQ(grouping.status, CellStatus::kOk);
    EXPECT_GE(grouping.step_time_us, *comparison.best_step_time_us);
    EXPECT_DOUBLE_EQ(*grouping.lost_parallelism,
                     grouping.step_time_us / *comparison.best_step_time_us - 1);
    EXPECT_LE(grouping.numbers.groups, find_grouping(grouping.name).takes_target ? 16 : 1200);
    EXPECT_GT(grouping.numbers.largest_share, 0);
    least = std::min(least, *grouping.lost_parallelism);
  }
  EXPECT_EQ(least, 0);
}

TEST(CompareGroupings, AnyoneCanRepeatASearch) {
  const GroupingComparison comparison =
      compare_groupings("inception-v3:batch=2", "p2-8xlarge-2", 0, 50, 3);
  const Cell cell{.graph = "inception-v3:batch=2",
                  .cluster = "p2-8xlarge-2",
                  .agent = comparison.agent,
                  .max_evaluations = 50,
                  .grouping = "heavy-edge",
                  .root_seed = 3};
  const ProblemSet problems({cell});
  const std::atomic<bool> never_stop{false};
  const auto found = std::ranges::find(comparison.groupings, "heavy-edge", &ComparedGrouping::name);
  EXPECT_EQ(run_cell(cell, problems.find(cell), {}, never_stop).step_time_us, found->step_time_us);
}

// What lets a placement that was found with a grouping count as one without.
TEST(CompareGroupings, APlacementTakesTheSameTimeWithAnyGroupingThatCanExpressIt) {
  const Problem coarse = load_problem("inception-v3:batch=2", "p2-8xlarge-2", 0, "scope");
  const Problem fine = load_problem("inception-v3:batch=2", "p2-8xlarge-2", 0, "colocation");
  Placement placement(coarse.num_groups());
  Placement same(fine.num_groups());
  for (GroupId group = 0; group < coarse.num_groups(); ++group) {
    placement[group] = coarse.placeable_devices()[static_cast<std::size_t>(group % 2)];
  }
  for (OpId op = 0; op < coarse.num_ops(); ++op) {
    same[fine.grouping().group_of(op)] = placement[coarse.grouping().group_of(op)];
  }
  EXPECT_EQ(Simulator(coarse).run(placement).makespan_us, Simulator(fine).run(same).makespan_us);
}

TEST(GroupGraph, RefusesANumberForAGroupingThatTakesNone) {
  EXPECT_THROW(load_problem("inception-v3:batch=2", "p2-8xlarge-2", 60, "colocation"), Error);
  EXPECT_THROW(load_problem("inception-v3:batch=2", "p2-8xlarge-2", 0, "nothing"), Error);
}

}  // namespace
}  // namespace emplace::bench::grouping_comparison_test

#include "coarsening/coarsening.hpp"

#include "coarsening/group_nesting.hpp"
#include "support/groupings.hpp"
#include "support/problems.hpp"
#include "support/properties.hpp"
#include "support/test_names.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/problem.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace emplace::agents::coarsening_test {
namespace {

using test::groups_of;
using testing::ElementsAre;

Problem finest_problem(const std::string& name, const std::string& cluster) {
  auto graph = std::make_shared<const OpGraph>(load_graph(name));
  Grouping grouping = find_grouping("colocation").group(*graph, 1);
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const Cluster>(load_cluster(cluster)));
}

// Groups form a DAG if no op reads from a group with a higher number.
bool is_topological(const Problem& problem, const Grouping& grouping) {
  return std::ranges::all_of(problem.uses(), [&](const Problem::Use& use) {
    return grouping.group_of(use.producer) <= grouping.group_of(use.consumer);
  });
}

double mean_time_us(const Problem& problem, std::span<const OpId> ops) {
  double sum_us = 0;
  for (const DeviceId device : problem.placeable_devices()) {
    for (const OpId op : ops) {
      sum_us += problem.busy_us(op, device);
    }
  }
  return sum_us / static_cast<double>(problem.placeable_devices().size());
}

double heaviest_us(const Problem& problem, const Grouping& grouping) {
  double heaviest_us = 0;
  for (GroupId group = 0; group < grouping.size(); ++group) {
    heaviest_us = std::max(heaviest_us, mean_time_us(problem, grouping.members(group)));
  }
  return heaviest_us;
}

// Returns the placement of each group on the device in its place.
Placement on(std::vector<DeviceId> devices) { return Placement(std::move(devices)); }

class CoarseningOfGraphs : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Zoo, CoarseningOfGraphs,
                         testing::Values("inception-v3", "nmt", "nasnet-a-large", "bert-base",
                                         "montage"),
                         test::kNamedByParameter);

TEST_P(CoarseningOfGraphs, HalvesTheGroupsAndNestsTheLevelsWithoutACycle) {
  const Problem problem = finest_problem(GetParam(), "p2-8xlarge-4");
  const Coarsening coarsening(problem);
  const std::vector<GroupId> levels = coarsening.levels();
  ASSERT_EQ(levels.front(), problem.num_groups());
  EXPECT_EQ(groups_of(coarsening.grouping(levels.front())), groups_of(problem.grouping()));
  EXPECT_GE(levels.back(), 4 * Coarsening::kCoarsestPerDevice);
  EXPECT_LT(levels.back(), 8 * Coarsening::kCoarsestPerDevice);
  Grouping finer = problem.grouping();
  for (const GroupId level : std::span(levels).subspan(1)) {
    Grouping grouping = coarsening.grouping(level);
    EXPECT_EQ(grouping.size(), (finer.size() + 1) / 2);
    EXPECT_TRUE(is_topological(problem, grouping)) << level;
    EXPECT_NO_THROW(GroupNesting(finer, grouping));  // refuses what is not nested
    finer = std::move(grouping);
  }
}

TEST_P(CoarseningOfGraphs, KeepsGroupsBalanced) {
  const Problem problem = finest_problem(GetParam(), "p2-8xlarge-4");
  const double finest_us = heaviest_us(problem, problem.grouping());
  double total_us = 0;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    total_us += mean_time_us(problem, problem.grouping().members(group));
  }
  const Coarsening coarsening(problem);
  for (const GroupId level : coarsening.levels()) {
    // Where no lighter pair may join, a heavier one does.
    EXPECT_LE(heaviest_us(problem, coarsening.grouping(level)),
              std::max(finest_us, 4 * total_us / level) * (1 + 1e-9))
        << level;
  }
}

TEST_P(CoarseningOfGraphs, HasEveryNumberOfGroupsDownToOne) {
  const Problem problem = finest_problem(GetParam(), "p2-8xlarge-2");
  const Coarsening coarsening(problem);
  EXPECT_EQ(coarsening.fewest_groups(), 1);
  for (const GroupId groups : {1, 2, 5, 128, 129, 130}) {
    const Grouping grouping = coarsening.grouping(groups);
    EXPECT_EQ(grouping.size(), std::min(groups, problem.num_groups()));
    EXPECT_TRUE(is_topological(problem, grouping));
  }
  EXPECT_EQ(coarsening.grouping(1'000'000).size(), problem.num_groups());
  EXPECT_EQ(coarsening.grouping(0).size(), 1);
}

TEST(Coarsening, IsTheSameEachTimeAndForAllThreads) {
  const Problem problem = finest_problem("inception-v3", "p2-8xlarge-4");
  const Coarsening coarsening(problem);
  std::vector<GroupId> seen;
  std::thread other([&] { seen = groups_of(coarsening.grouping(128)); });
  EXPECT_EQ(groups_of(Coarsening(problem).grouping(128)), groups_of(coarsening.grouping(128)));
  other.join();
  EXPECT_EQ(seen, groups_of(coarsening.grouping(128)));
}

TEST(Coarsening, JoinsAlongTheEdgeThatCostsMostToCut) {
  // a -> b -> c -> d of equal times, with most bytes in the middle.
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 1},
                        {.name = "b", .cost_us = 10, .output_bytes = 9, .producers = {0}},
                        {.name = "c", .cost_us = 10, .output_bytes = 2, .producers = {1}},
                        {.name = "d", .cost_us = 10, .producers = {2}}}));
  EXPECT_THAT(groups_of(Coarsening(problem).grouping(3)), ElementsAre(0, 1, 1, 2));
}

TEST(Coarsening, JoinsAlongTheLongestPathRatherThanWhereThereIsSlack) {
  // a -> b -> c -> d takes 200 us, and a -> e -> d 150 us: of the 40 us from a to e, 40 are hidden
  // by the slack of 50, and of those from a to b none.
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 50, .output_bytes = 40},
                        {.name = "e", .cost_us = 50, .output_bytes = 40, .producers = {0}},
                        {.name = "b", .cost_us = 50, .output_bytes = 40, .producers = {0}},
                        {.name = "c", .cost_us = 50, .output_bytes = 40, .producers = {2}},
                        {.name = "d", .cost_us = 50, .producers = {1, 3}}}));
  EXPECT_THAT(groups_of(Coarsening(problem).grouping(4)), ElementsAre(0, 1, 0, 2, 3));
}

TEST(Coarsening, JoinsPartsThatNothingConnectsToo) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 5},
                                           {.name = "b", .cost_us = 20, .producers = {0}},
                                           {.name = "c", .cost_us = 30, .output_bytes = 5},
                                           {.name = "d", .cost_us = 40, .producers = {2}},
                                           {.name = "alone", .cost_us = 15}}));
  EXPECT_EQ(Coarsening(problem).fewest_groups(), 1);
  EXPECT_THAT(Coarsening(problem).levels(), ElementsAre(5));
}

TEST(Coarsening, CoarsensStepsOfAllKinds) {
  test::expect_always([] {
    const test::RandomStep step = test::draw_any_step();
    const Problem problem = test::make_problem(step.graph, step.cluster);
    const Coarsening coarsening(problem);
    RC_ASSERT(coarsening.fewest_groups() == 1);
    Grouping finer = problem.grouping();
    for (GroupId groups = problem.num_groups(); groups >= 1; --groups) {
      const Grouping grouping = coarsening.grouping(groups);
      RC_ASSERT(grouping.size() == groups);
      RC_ASSERT(is_topological(problem, grouping));
      const GroupNesting nesting(finer, grouping);  // refuses what is not nested
      finer = grouping;
    }
  });
}

TEST(GroupNesting, ExpandsAndProjectsByTime) {
  // Groups of 10, 20, 30, 25 us: {a, b} and {c, d}.
  const Problem problem = test::make_problem(test::chain_graph({10, 20, 30, 25}, 5));
  const GroupNesting nesting(problem.grouping(), Grouping({0, 0, 1, 1}));
  EXPECT_EQ(nesting.expand(on({1, 0})), on({1, 1, 0, 0}));
  EXPECT_EQ(nesting.project(problem, on({1, 0, 0, 1})), on({0, 0}));
  EXPECT_EQ(nesting.project(problem, on({1, 1, 0, 0})), on({1, 0}));
  EXPECT_TRUE(nesting.can_express(on({1, 1, 0, 0})));
  EXPECT_FALSE(nesting.can_express(on({1, 0, 0, 0})));
  EXPECT_THAT(nesting.members(1), ElementsAre(2, 3));
}

TEST(GroupNesting, HandsPrioritiesToTheFineGroups) {
  const GroupNesting nesting(Grouping({0, 1, 2}), Grouping({0, 0, 1}));
  Placement coarse = on({0, 1});
  coarse.set_priorities(std::vector<Priority>{4, -2});
  Placement fine = on({0, 0, 1});
  fine.set_priorities(std::vector<Priority>{4, 4, -2});
  EXPECT_EQ(nesting.expand(coarse), fine);
  EXPECT_FALSE(nesting.can_express(fine));  // project() would drop them
}

TEST(GroupNesting, RefusesGroupsThatAreNotNested) {
  EXPECT_THROW(GroupNesting(Grouping({0, 0, 1}), Grouping({0, 1, 1})), InternalError);
  EXPECT_THROW(GroupNesting(Grouping({0, 0, 1}), Grouping({0, 1})), InternalError);
}

}  // namespace
}  // namespace emplace::agents::coarsening_test

// Grouping by neighbours. What holds of all strategies is tested in grouping_strategy_test.cpp.

#include "support/errors.hpp"
#include "support/groupings.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/grouping.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emplace::grouping_test {
namespace {

using testing::ElementsAre;

using test::Edges;
using test::fault_of;
using test::graph_of;
using test::groups_of;

TEST(Grouping, KnowsTheMembersOfEachGroup) {
  const Grouping grouping({0, 1, 0, 2});
  EXPECT_EQ(grouping.size(), 3);
  EXPECT_EQ(grouping.num_ops(), 4);
  EXPECT_EQ(grouping.group_of(2), 0);
  EXPECT_THAT(grouping.members(0), ElementsAre(0, 2));
  EXPECT_THAT(grouping.members(2), ElementsAre(3));
}

TEST(Grouping, UngroupedGivesEachOpItsOwnGroup) {
  OpGraph graph = graph_of(3, {{0, 1}});
  graph[0].colocation = graph[2].colocation = "same";
  EXPECT_THAT(groups_of(ungrouped(graph)), ElementsAre(0, 1, 2));
}

TEST(Grouping, ATensorIsCutOnceHoweverManyGroupsReadIt) {
  // Op 0 hands output 0 (4 bytes) to ops 1, 2 and 3 and output 1 (10 bytes) to op 1 of its own
  // group; op 1 hands 4 bytes to op 2, and an order without data goes from op 2 to op 3.
  OpGraph graph = graph_of(4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}});
  graph[0].outputs.push_back({.bytes = 10});
  add_dependency(graph, 0, 1, 1);
  add_dependency(graph, 2, Dependency::kControl, 3);
  const Grouping grouping({0, 0, 1, 2});
  EXPECT_THAT(outgoing_bytes(graph, grouping), ElementsAre(4 + 4, 0, 0));
  EXPECT_EQ(cut_bytes(graph, grouping), 8);
  EXPECT_EQ(cut_bytes(graph, ungrouped(graph)), 4 + 10 + 4);
  EXPECT_EQ(cut_bytes(graph, Grouping({0, 0, 0, 0})), 0);
}

TEST(GroupOps, ChangesNothingWhereTheTargetIsReachedAlready) {
  EXPECT_THAT(groups_of(group_ops(graph_of(3, {{0, 1}, {1, 2}}), 3)), ElementsAre(0, 1, 2));
}

TEST(GroupOps, NumbersGroupsInTopologicalOrderAndByTheirFirstOps) {
  // 2 -> 1 -> 0, and 3 alone.
  EXPECT_THAT(groups_of(group_ops(graph_of(4, {{2, 1}, {1, 0}}), 4)), ElementsAre(2, 1, 0, 3));
}

TEST(GroupOps, CutsAChainIntoEqualParts) {
  const OpGraph graph = graph_of(8, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}});
  EXPECT_THAT(groups_of(group_ops(graph, 4)), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(groups_of(group_ops(graph, 1)), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(GroupOps, LabelsComeBeforeTheTarget) {
  OpGraph graph = graph_of(4, {{0, 2}, {1, 3}});
  graph[0].colocation = graph[1].colocation = "weights";
  EXPECT_THAT(groups_of(group_ops(graph, 100)), ElementsAre(0, 0, 1, 2));
}

TEST(GroupOps, AnOpConsumedByOneOpOnlyJoinsItsConsumer) {
  // 0 -> 1 -> 3 and 0 -> 2 -> 3 -> 4: op 0 has two consumers; 1 and 2 have one and come first.
  const OpGraph graph = graph_of(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}});
  EXPECT_THAT(groups_of(group_ops(graph, 4)), ElementsAre(0, 2, 1, 2, 3));
}

TEST(GroupOps, AnOpWhoseConsumersMergeIsConsumedByOneOnlyFromThenOn) {
  // 0 -> 1 -> 2 and 0 -> 2 are heavier than 3 -> 4 and 3 -> 5, but once 1 and 2 are together, 0 has
  // one consumer and joins it before 3, which has two, joins any. Op 6 keeps the average group
  // large.
  OpGraph graph = graph_of(7, {{0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 5}});
  graph[0].bytes_read = graph[1].bytes_read = graph[2].bytes_read = 400;
  graph[6].bytes_read = 100'000;
  EXPECT_THAT(groups_of(group_ops(graph, 5)), ElementsAre(0, 0, 0, 1, 2, 3, 4));
}

TEST(GroupOps, ADiamondIsNeverClosedAroundABranch) {
  // 0 -> 3 beside 0 -> 1 -> 3 and 0 -> 2 -> 3: joining 0 and 3 would put 1 and 2 on cycles.
  const OpGraph graph = graph_of(4, {{0, 3}, {0, 1}, {0, 2}, {1, 3}, {2, 3}});
  for (GroupId target = 1; target <= 4; ++target) {
    const Grouping grouping = group_ops(graph, target);
    EXPECT_EQ(grouping.size(), target);
    EXPECT_EQ(fault_of(graph, grouping), "");
  }
}

TEST(GroupOps, AFanOutMergesWithItsSourceOneByOne) {
  const OpGraph graph = graph_of(4, {{0, 1}, {0, 2}, {0, 3}});
  EXPECT_THAT(groups_of(group_ops(graph, 2)), ElementsAre(0, 0, 0, 1));
}

TEST(GroupOps, PartsThatNothingConnectsStayApart) {
  EXPECT_THAT(groups_of(group_ops(graph_of(4, {{0, 1}, {2, 3}}), 1)), ElementsAre(0, 0, 1, 1));
}

TEST(GroupOps, LightOpsMergeBeforeHeavyOnes) {
  OpGraph graph = graph_of(4, {{0, 1}, {1, 2}, {2, 3}});
  graph[0].flops = graph[1].flops = 1'000'000;
  EXPECT_THAT(groups_of(group_ops(graph, 3)), ElementsAre(0, 1, 2, 2));
}

TEST(GroupOps, OpsOfOneLayerMergeBeforeThoseOfTwo) {
  OpGraph graph = graph_of(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  graph[0].scope = "block/branch_1";
  graph[1].scope = graph[2].scope = "block/branch_2";
  graph[3].scope = "block";
  graph[4].scope = graph[5].scope = "blocks";  // a name that only begins like the other
  // First within branch_2 and blocks, then within block, then all.
  EXPECT_THAT(groups_of(group_ops(graph, 5)), ElementsAre(0, 1, 1, 2, 3, 4));
  EXPECT_THAT(groups_of(group_ops(graph, 2)), ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(GroupOps, PassesMergeLast) {
  OpGraph graph = graph_of(4, {{0, 1}, {1, 2}, {2, 3}});
  for (std::size_t op = 0; op < 4; ++op) {
    graph[op].phase = op < 2 ? Phase::kForward : Phase::kBackward;
    graph[op].scope = op == 0 || op == 3 ? "outer" : "outer/inner";
  }
  // 1 and 2 share the deepest scope, but belong to different passes.
  EXPECT_THAT(groups_of(group_ops(graph, 2)), ElementsAre(0, 0, 1, 1));
}

TEST(GroupOps, RefusesATargetBelowOne) {
  test::error_of(ErrorCode::kUsage, [&] { group_ops(graph_of(1, {}), 0); });
}

TEST(GroupOps, ALabelTakesAlongWhatLiesBetweenItsOps) {
  OpGraph graph = graph_of(6, {{0, 1}, {1, 2}, {2, 3}, {0, 4}, {4, 5}});
  graph[0].colocation = graph[2].colocation = "tied";
  const Grouping grouping = group_ops(graph);
  EXPECT_EQ(fault_of(graph, grouping), "");
  EXPECT_EQ(grouping.group_of(0), grouping.group_of(1));
  EXPECT_EQ(grouping.group_of(0), grouping.group_of(2));
  EXPECT_EQ(grouping.size(), 4);
}

TEST(GroupOps, LabelsThatReachOneAnotherAreOneGroup) {
  // 0 -> 1 and 2 -> 3; label "a" on 0 and 3, "b" on 1 and 2: each label's group waits for the
  // other.
  OpGraph graph = graph_of(4, {{0, 1}, {2, 3}});
  graph[0].colocation = graph[3].colocation = "a";
  graph[1].colocation = graph[2].colocation = "b";
  EXPECT_EQ(group_ops(graph).size(), 1);
}

TEST(GroupOps, HandlesAHundredThousandOps) {
  constexpr OpId kNumOps = 100'000;
  Edges chain;
  for (OpId op = 1; op < kNumOps; ++op) {
    chain.emplace_back(op - 1, op);
  }
  constexpr OpId kWidth = 100;
  RandomStream random(2);
  Edges layers;
  for (OpId op = kWidth; op < kNumOps; ++op) {
    const OpId layer_above = op / kWidth * kWidth - kWidth;
    for (int i = 0; i < 3; ++i) {
      layers.emplace_back(layer_above + static_cast<OpId>(random.below(kWidth)), op);
    }
  }
  for (const Edges& edges : {chain, layers}) {
    const OpGraph graph = graph_of(kNumOps, edges);
    const Grouping grouping = group_ops(graph);
    EXPECT_EQ(fault_of(graph, grouping), "");
    EXPECT_EQ(grouping.size(), kDefaultGroups);
    for (GroupId group = 0; group < grouping.size(); ++group) {
      EXPECT_LT(grouping.members(group).size(), 4U * kNumOps / kDefaultGroups);
    }
  }
}

}  // namespace
}  // namespace emplace::grouping_test

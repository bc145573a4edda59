#include "support/errors.hpp"
#include "support/groupings.hpp"
#include "support/properties.hpp"
#include "support/test_names.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/grouping_strategy.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace emplace::grouping_strategy_test {
namespace {

using test::count_parts;
using test::fault_of;
using test::graph_of;
using test::groups_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<GroupId> groups_by(std::string_view name, const OpGraph& graph,
                               GroupId target = kDefaultGroups) {
  return groups_of(find_grouping(name).group(graph, target));
}

// A chain whose edge i -> i+1 moves bytes[i].
OpGraph chain_of(const std::vector<std::int64_t>& bytes) {
  OpGraph graph = graph_of(static_cast<OpId>(bytes.size()) + 1, {});
  for (OpId op = 0; op + 1 < num_ops(graph); ++op) {
    graph[static_cast<std::size_t>(op)].outputs[0].bytes = bytes[static_cast<std::size_t>(op)];
    add_dependency(graph, op, 0, op + 1);
  }
  return graph;
}

class EveryStrategy : public testing::TestWithParam<std::string> {
 protected:
  const GroupingStrategy& strategy_ = find_grouping(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Groupings, EveryStrategy, testing::ValuesIn(grouping_names()),
                         test::kNamedByParameter);

// Each op in one group, labels together, no cycle, numbered in topological order, the target kept,
// and the same bits again. Only parts that no edge joins may make more groups than asked for.
TEST_P(EveryStrategy, IsSoundOnRandomGraphs) {
  test::expect_always([this] {
    const auto size = static_cast<OpId>(1 + test::below(60));
    const OpGraph graph = test::draw_graph(size, 1 + test::below(4), test::below);
    const auto target = static_cast<GroupId>(1 + test::below(20));
    const Grouping grouping = strategy_.group(graph, target);
    RC_ASSERT(fault_of(graph, grouping) == "");
    RC_ASSERT(groups_of(strategy_.group(graph, target)) == groups_of(grouping));
    if (strategy_.takes_target && grouping.size() > target) {
      RC_ASSERT(grouping.size() <= count_parts(graph));
    }
  });
}

TEST_P(EveryStrategy, OnlyJoinsWhatColocationHasJoined) {
  RandomStream random(3);
  const auto below = [&](std::uint64_t bound) { return random.below(bound); };
  const OpGraph graph = test::draw_graph(200, 3, below);
  const Grouping finest = find_grouping("colocation").group(graph, 1);
  const Grouping grouping = strategy_.group(graph, 12);
  for (GroupId group = 0; group < finest.size(); ++group) {
    for (const OpId op : finest.members(group)) {
      EXPECT_EQ(grouping.group_of(op), grouping.group_of(finest.members(group).front()));
    }
  }
}

TEST_P(EveryStrategy, GroupsAHundredThousandOps) {
  RandomStream random(4);
  const auto below = [&](std::uint64_t bound) { return random.below(bound); };
  const OpGraph graph = test::training_graph_of(100'000, below);
  const Grouping grouping = strategy_.group(graph, kDefaultGroups);
  EXPECT_EQ(fault_of(graph, grouping), "");
  if (strategy_.takes_target) {
    EXPECT_LE(grouping.size(), kDefaultGroups);
    EXPECT_GT(grouping.size(), kDefaultGroups / 2);
  }
}

TEST_P(EveryStrategy, AGraphWithoutOpsHasNoGroups) {
  EXPECT_EQ(strategy_.group(OpGraph(), 4).size(), 0);
}

TEST_P(EveryStrategy, RefusesACycleOfOps) {
  EXPECT_THROW(strategy_.group(graph_of(2, {{0, 1}, {1, 0}}), 1), Error);
}

TEST(GroupingStrategies, AreSortedAndTheDefaultIsOneOfThem) {
  const std::vector<std::string> names = grouping_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  const OpGraph graph = chain_of({4, 4, 4, 4, 4, 4, 4});
  EXPECT_EQ(groups_by(kTargetGrouping, graph, 3), groups_of(group_ops(graph, 3)));
  EXPECT_FALSE(find_grouping(kDefaultGrouping).takes_target);
}

TEST(GroupingStrategies, OneThatIsNotNamedFollowsFromTheNumber) {
  EXPECT_EQ(grouping_for("scope", 7), "scope");
  EXPECT_EQ(grouping_for("scope", 0), "scope");
  EXPECT_EQ(grouping_for("", 7), "neighbours");
  EXPECT_EQ(grouping_for("", 0), "colocation");
}

TEST(GroupingStrategies, AnUnknownNameSuggestsTheNearest) {
  EXPECT_THAT(test::error_of(ErrorCode::kUnknownName, [&] { find_grouping("heavyedge"); }),
              HasSubstr("did you mean 'heavy-edge'"));
}

TEST(GroupingStrategies, ANumberOfGroupsIsForThoseThatTakeOne) {
  EXPECT_EQ(target_of(find_grouping("scope"), 0), kDefaultGroups);
  EXPECT_EQ(target_of(find_grouping("scope"), 7), 7);
  EXPECT_EQ(target_of(find_grouping("colocation"), 0), kDefaultGroups);
  EXPECT_THROW(target_of(find_grouping("colocation"), 7), Error);
  EXPECT_THROW(target_of(find_grouping("scope"), -1), Error);
  EXPECT_THROW(target_of(find_grouping("scope"), std::int64_t{1} << 31), Error);
}

TEST(Colocation, JoinsLabelsAndNothingElse) {
  OpGraph graph = graph_of(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  graph[0].colocation = graph[1].colocation = "a";
  graph[3].colocation = graph[4].colocation = "b";
  EXPECT_THAT(groups_by("colocation", graph), ElementsAre(0, 0, 1, 2, 2));
}

TEST(SingleConsumer, JoinsAnOpToItsOnlyConsumer) {
  // 0 is read by 1 and by 2, whose readers 3 and 4 end the step: 0 stays, the others join.
  const OpGraph graph = graph_of(5, {{0, 1}, {0, 2}, {1, 3}, {2, 4}});
  EXPECT_THAT(groups_by("single-consumer", graph), ElementsAre(0, 1, 2, 1, 2));
}

TEST(SingleConsumer, GoesOnUntilNothingChanges) {
  // Ops 1 and 2 join op 3, so then 0 is consumed by one group only, and joins it too. Op 4, which
  // 3 and 5 read, never does.
  const OpGraph graph = graph_of(6, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {4, 3}, {4, 5}});
  EXPECT_THAT(groups_by("single-consumer", graph), ElementsAre(1, 1, 1, 1, 0, 2));
}

TEST(SingleConsumer, AGraphWithOneLastOpBecomesOneGroup) {
  EXPECT_EQ(find_grouping("single-consumer")
                .group(graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}), 1)
                .size(),
            1);
}

TEST(HeavyEdge, ContractsTheHeaviestEdgeFirst) {
  const OpGraph graph = chain_of({10, 30, 20});
  EXPECT_THAT(groups_by("heavy-edge", graph, 3), ElementsAre(0, 1, 1, 2));
}

TEST(HeavyEdge, AddsUpWhatSeveralTensorsMove) {
  // 0 -> 1 moves 50 bytes and comes first. Together they hand 30 + 25 bytes to op 2, more than the
  // 40 bytes of 3 -> 4, which are more than either tensor alone. Op 6 reads a byte, so that op 2 is
  // not the only consumer; op 5 keeps the average high.
  OpGraph graph = graph_of(7, {{0, 1}, {1, 2}, {3, 4}});
  graph[0].outputs = {{.bytes = 50}, {.bytes = 30}, {.bytes = 1}};
  add_dependency(graph, 0, 1, 2);
  add_dependency(graph, 0, 2, 6);
  graph[1].outputs[0].bytes = 25;
  graph[3].outputs[0].bytes = 40;
  graph[5].bytes_read = 100'000;
  EXPECT_THAT(groups_by("heavy-edge", graph, 5), ElementsAre(0, 0, 0, 1, 2, 3, 4));
}

TEST(HeavyEdge, KeepsGroupsInBalance) {
  // All edges but the last are heavier than it, but a chain cut by them alone would be one group of
  // seven ops and one of one.
  const OpGraph graph = chain_of({16, 15, 14, 13, 12, 11, 10});
  const Grouping grouping = find_grouping("heavy-edge").group(graph, 4);
  for (GroupId group = 0; group < grouping.size(); ++group) {
    EXPECT_LE(grouping.members(group).size(), 4U);  // twice the average
  }
}

TEST(HeavyEdge, NeverClosesADiamondAroundABranch) {
  OpGraph graph = graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  graph[0].outputs.push_back({.bytes = 1000});
  add_dependency(graph, 0, 1, 3);  // by far the heaviest edge, around 1 and 2
  for (GroupId target = 1; target <= 4; ++target) {
    const Grouping grouping = find_grouping("heavy-edge").group(graph, target);
    EXPECT_EQ(grouping.size(), target);
    EXPECT_EQ(fault_of(graph, grouping), "");
  }
}

// A training step of two layers with two ops each: down the first pass, up the second.
OpGraph two_layers() {
  OpGraph graph = graph_of(8, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}});
  for (OpId op = 0; op < 8; ++op) {
    const bool first = op < 2 || op >= 6;
    Op& properties = graph[static_cast<std::size_t>(op)];
    properties.scope =
        std::string(first ? "net/one" : "net/two") + (op % 2 == 0 ? "/conv" : "/norm");
    properties.phase = op < 4 ? Phase::kForward : Phase::kBackward;
  }
  return graph;
}

TEST(Scope, TakesTheGreatestDepthThatKeepsTheTarget) {
  const OpGraph graph = two_layers();
  EXPECT_THAT(groups_by("scope", graph, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(groups_by("scope", graph, 7), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(groups_by("scope", graph, 4), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(groups_by("scope", graph, 3), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(groups_by("scope", graph, 1), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Scope, JoinsOpsOfOneLayerThatNoEdgeJoins) {
  OpGraph graph = graph_of(4, {{0, 2}, {1, 2}, {2, 3}});
  graph[0].scope = graph[1].scope = "embedding";
  graph[2].scope = "dense";
  graph[3].scope = "loss";
  EXPECT_THAT(groups_by("scope", graph, 3), ElementsAre(0, 0, 1, 2));
}

TEST(Scope, SplitsALayerThatWaitsForItself) {
  // The layer "a" is used before and after "b".
  OpGraph graph = graph_of(3, {{0, 1}, {1, 2}});
  graph[0].scope = graph[2].scope = "a";
  graph[1].scope = "b";
  EXPECT_THAT(groups_by("scope", graph, 3), ElementsAre(0, 1, 2));
}

#ifdef EMPLACE_WITH_METIS

TEST(MetisGrouping, CutsWhereFewBytesCross) {
  // Four chains of four ops that move 1000 bytes, linked by one byte.
  std::vector<std::int64_t> bytes;
  for (int i = 0; i < 15; ++i) {
    bytes.push_back(i % 4 == 3 ? 1 : 1000);
  }
  EXPECT_THAT(groups_by("metis", chain_of(bytes), 4),
              ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
}

TEST(MetisGrouping, SplitsAPartThatWaitsForAnother) {
  // Forward and backward ops of a layer exchange most bytes, so a partitioner that knows no order
  // puts them into one part; as a group it would wait for itself.
  OpGraph graph = graph_of(4, {{0, 1}, {1, 2}, {2, 3}});
  graph[0].outputs.push_back({.bytes = 1000});
  graph[1].outputs.push_back({.bytes = 1000});
  add_dependency(graph, 0, 1, 3);
  add_dependency(graph, 1, 1, 2);
  const Grouping grouping = find_grouping("metis").group(graph, 2);
  EXPECT_EQ(grouping.size(), 2);
  EXPECT_EQ(fault_of(graph, grouping), "");
}

#endif

}  // namespace
}  // namespace emplace::grouping_strategy_test

#include "search/move_proposals.hpp"

#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace emplace::agents::move_proposals_test {
namespace {

using Devices = std::vector<DeviceId>;

std::vector<Move> copy(std::span<const Move> moves) { return {moves.begin(), moves.end()}; }

TEST(MoveProposals, MoveDifferentGroupsToOtherDevices) {
  const Problem problem = test::make_problem(test::crossing_graph(), {.num_devices = 3});
  MoveProposals proposals(Coarsening(problem), {});
  const Placement placement(Devices{0, 1, 2, 0, 1, 2, 0});
  RandomStream random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::vector<Move> moves = copy(proposals.propose(placement, random));
    ASSERT_FALSE(moves.empty());
    std::set<GroupId> groups;
    for (const Move& move : moves) {
      EXPECT_TRUE(groups.insert(move.group).second);
      EXPECT_NE(move.device, placement[move.group]);
      EXPECT_THAT(move.device, testing::AllOf(testing::Ge(0), testing::Lt(3)));
    }
  }
}

// Of 40 equal branches, on levels of some groups.
TEST(RandomMoves, TellTheirLevel) {
  const Problem problem = test::make_problem(test::fork_join_graph(40, 20));
  const Coarsening coarsening(problem);
  const RandomMoves random_moves(coarsening, {.cluster = 0.5, .layer = 0.1, .swap = 0.1});
  const std::vector<GroupId> levels = coarsening.levels();
  RandomStream random(1);
  std::vector<Move> moves;
  std::vector<int> drawn(levels.size() + 1);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t level = random_moves.draw(Placement(problem.num_groups()), random, moves);
    ASSERT_LT(level, drawn.size());
    ++drawn[level];
    if (level == 0) {
      EXPECT_LE(moves.size(), 2U);  // two are swapped
    } else if (level < levels.size()) {
      const auto parts = coarsening.parts(levels[level]);
      for (const Move& move : moves) {
        EXPECT_EQ(parts[move.group], parts[moves.front().group]);
      }
    }
  }
  EXPECT_THAT(drawn, testing::Each(testing::Gt(0)));
}

TEST(MoveProposals, AreNoneWithOneDevice) {
  const Problem problem = test::make_problem(test::diamond_graph(1), {.num_devices = 1});
  MoveProposals proposals(Coarsening(problem), {});
  RandomStream random(1);
  EXPECT_TRUE(proposals.propose(Placement(4), random).empty());
}

// b is apart from the others. Moving it saves both transfers; any other move saves at most one.
TEST(MoveProposals, PreferWhatSavesMostTransfers) {
  const Problem problem = test::make_problem(test::chain_graph({10, 10, 10, 10}, 1000));
  MoveProposals proposals(
      Coarsening(problem),
      {.candidates = 200, .uncompared = 0, .moves = {.cluster = 0, .layer = 0, .swap = 0}});
  RandomStream random(1);
  for (int i = 0; i < 20; ++i) {
    const std::vector<Move> moves = copy(proposals.propose(Placement(Devices{0, 1, 0, 0}), random));
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_EQ(moves[0].group, 1);
    EXPECT_EQ(moves[0].device, 0);
  }
}

// Four ops of one cost without edges, three of them on device 0 at the same time.
TEST(MoveProposals, PreferDevicesThatWereIdle) {
  const Problem problem = test::make_problem(test::make_graph({{.name = "a", .cost_us = 10},
                                                               {.name = "b", .cost_us = 10},
                                                               {.name = "c", .cost_us = 10},
                                                               {.name = "d", .cost_us = 10}}),
                                             {.num_devices = 3});
  const Placement placement(Devices{0, 0, 0, 1});
  MoveProposals proposals(
      Coarsening(problem),
      {.candidates = 200, .uncompared = 0, .moves = {.cluster = 0, .layer = 0, .swap = 0}});
  proposals.observe(placement, {.group_start_us = {0, 10, 20, 0}, .peak_bytes = {}}, 30);
  RandomStream random(1);
  for (int i = 0; i < 20; ++i) {
    // Device 2 is idle all the time; device 1 while b and c run.
    const std::vector<Move> moves = copy(proposals.propose(placement, random));
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_THAT(moves[0].group, testing::AnyOf(0, 1, 2));
    EXPECT_TRUE(moves[0].device == 2 || (moves[0].group > 0 && moves[0].device == 1));
  }
}

TEST(MoveProposals, TakeALayerAsAWhole) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .scope = "one"},
                                           {.name = "b", .producers = {0}, .scope = "two"},
                                           {.name = "c", .producers = {1}, .scope = "two"},
                                           {.name = "d", .producers = {2}, .scope = "two"}}));
  MoveProposals proposals(Coarsening(problem),
                          {.candidates = 1, .moves = {.cluster = 0, .layer = 1, .swap = 0}});
  RandomStream random(1);
  bool took_two = false;
  for (int i = 0; i < 100; ++i) {
    std::set<GroupId> groups;
    for (const Move& move : proposals.propose(Placement(Devices{0, 0, 0, 1}), random)) {
      groups.insert(move.group);
    }
    // d is of the layer of b and c but on another device.
    EXPECT_THAT(groups, testing::AnyOf(std::set<GroupId>{0}, std::set<GroupId>{1, 2},
                                       std::set<GroupId>{3}));
    took_two = took_two || groups == std::set<GroupId>{1, 2};
  }
  EXPECT_TRUE(took_two);
}

TEST(MoveProposals, CompareNoCandidatesNowAndThen) {
  const Problem problem = test::make_problem(test::chain_graph({10, 10, 10, 10}, 1000));
  MoveProposals proposals(
      Coarsening(problem),
      {.candidates = 200, .uncompared = 0.5, .moves = {.cluster = 0, .layer = 0, .swap = 0}});
  RandomStream random(1);
  int best = 0;
  for (int i = 0; i < 400; ++i) {
    best += proposals.propose(Placement(Devices{0, 1, 0, 0}), random)[0].group == 1 ? 1 : 0;
  }
  // All that are compared, and a quarter of the others.
  EXPECT_THAT(best, testing::AllOf(testing::Gt(210), testing::Lt(290)));
}

// On a chain coarse groups are stretches of it, of 2 to 8 groups on the levels below 64 groups.
TEST(MoveProposals, ClustersAreCoarseGroupsOnOneDevice) {
  const Problem problem = test::make_problem(test::chain_graph(std::vector<double>(64, 1.0), 1000));
  ASSERT_EQ(Coarsening(problem).levels().size(), 4u);
  Placement placement(64, 0);
  for (GroupId group = 20; group < 64; ++group) {
    placement[group] = 1;
  }
  MoveProposals proposals(Coarsening(problem),
                          {.candidates = 1, .moves = {.cluster = 1, .layer = 0, .swap = 0}});
  RandomStream random(1);
  std::set<std::size_t> sizes;
  for (int i = 0; i < 1000; ++i) {
    std::set<GroupId> groups;
    for (const Move& move : proposals.propose(placement, random)) {
      groups.insert(move.group);
    }
    EXPECT_EQ(*groups.rbegin() - *groups.begin() + 1, static_cast<GroupId>(groups.size()));
    EXPECT_EQ(placement[*groups.begin()], placement[*groups.rbegin()]);
    sizes.insert(groups.size());
  }
  EXPECT_THAT(sizes, testing::IsSupersetOf({2u, 4u, 8u}));
}

TEST(MoveProposals, SwapGroupsOfTwoDevices) {
  const Problem problem = test::make_problem(test::chain_graph({1, 1}, 10));
  MoveProposals proposals(Coarsening(problem),
                          {.candidates = 1, .moves = {.cluster = 0, .layer = 0, .swap = 1}});
  RandomStream random(3);
  std::size_t swaps = 0;
  for (int i = 0; i < 50; ++i) {
    const std::vector<Move> moves = copy(proposals.propose(Placement(Devices{0, 1}), random));
    if (moves.size() == 2) {
      EXPECT_EQ(moves[0].device, std::int32_t{moves[1].group});  // group g is on device g
      EXPECT_EQ(moves[1].device, std::int32_t{moves[0].group});
      ++swaps;
    }
  }
  EXPECT_GT(swaps, 25u);
}

}  // namespace
}  // namespace emplace::agents::move_proposals_test

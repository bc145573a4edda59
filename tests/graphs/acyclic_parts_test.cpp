#include "graphs/src/grouping/acyclic_parts.hpp"

#include "support/properties.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace emplace::acyclic_parts_test {
namespace {

using testing::ElementsAre;

using NodeEdges = std::vector<std::pair<GroupId, GroupId>>;

TEST(AcyclicParts, PartsThatFormADagStayWhole) {
  // 0 -> 1 -> 2 and 3 alone; part 0 is {0, 3}, part 1 {1, 2}.
  const NodeEdges edges = {{0, 1}, {1, 2}};
  EXPECT_THAT(acyclic_parts(edges, std::vector<std::int32_t>{0, 1, 1, 0}), ElementsAre(0, 1, 1, 0));
}

TEST(AcyclicParts, WhatCanWaitWaitsForTheRestOfItsPart) {
  // Node 0 could run at once, but its part waits for node 1 anyway.
  const NodeEdges edges = {{1, 2}};
  EXPECT_THAT(acyclic_parts(edges, std::vector<std::int32_t>{0, 1, 0}), ElementsAre(1, 0, 1));
}

TEST(AcyclicParts, APartThatWaitsForItselfIsSplit) {
  // Down three layers and up again, each a part: the last is whole, the others are split.
  const NodeEdges edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
  EXPECT_THAT(acyclic_parts(edges, std::vector<std::int32_t>{0, 1, 2, 2, 1, 0}),
              ElementsAre(0, 1, 2, 2, 3, 4));
}

TEST(AcyclicParts, NothingHasNoPieces) {
  EXPECT_TRUE(acyclic_parts({}, std::vector<std::int32_t>{}).empty());
}

TEST(AcyclicParts, PiecesStayWithinTheirPartsAndReadFromEarlierOnes) {
  test::expect_always([] {
    const auto num_nodes = static_cast<GroupId>(1 + test::below(40));
    std::vector<std::int32_t> part_of;
    NodeEdges edges;
    for (GroupId node = 0; node < num_nodes; ++node) {
      part_of.push_back(static_cast<std::int32_t>(test::below(6)));
      for (auto inputs = node == 0 ? 0 : test::below(3); inputs > 0; --inputs) {
        edges.emplace_back(test::below(static_cast<std::uint64_t>(node)), node);
      }
    }
    const std::vector<std::int32_t> piece_of = acyclic_parts(edges, part_of);
    std::map<std::int32_t, std::set<std::int32_t>> parts_of_piece;
    for (std::size_t node = 0; node < piece_of.size(); ++node) {
      parts_of_piece[piece_of[node]].insert(part_of[node]);
    }
    for (const auto& [piece, parts] : parts_of_piece) {
      RC_ASSERT(parts.size() == 1U);
    }
    for (const auto& [from, to] : edges) {
      RC_ASSERT(piece_of[static_cast<std::size_t>(from)] <= piece_of[static_cast<std::size_t>(to)]);
    }
  });
}

}  // namespace
}  // namespace emplace::acyclic_parts_test

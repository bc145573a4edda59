#include <emplace/base/random.hpp>
#include <emplace/bench/cell.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace emplace::bench::cell_test {
namespace {

const Cell kCell{.graph = "inception-v3",
                 .cluster = "p2-8xlarge-2",
                 .agent = "random",
                 .repetition = 1,
                 .max_evaluations = 100,
                 .groups = 60,
                 .grouping = "neighbours",
                 .root_seed = 7};

// Every change of one coordinate.
std::vector<Cell> neighbours(const Cell& cell) {
  std::vector<Cell> changed(8, cell);
  changed[0].graph = "other";
  changed[1].cluster = "other";
  changed[2].agent = "other";
  changed[3].repetition = 2;
  changed[4].groups = 61;
  changed[5].root_seed = 8;
  changed[6].grouping = "scope";
  changed[7].max_evaluations = 101;
  return changed;
}

TEST(Cell, IdIsSixteenHexadecimalDigits) {
  EXPECT_EQ(kCell.id().size(), 16U);
  EXPECT_EQ(kCell.id().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(kCell.id(), Cell(kCell).id());
}

TEST(Cell, EveryCoordinateChangesTheId) {
  std::set<std::string> ids = {kCell.id()};
  for (const Cell& cell : neighbours(kCell)) {
    EXPECT_TRUE(ids.insert(cell.id()).second);
  }
}

TEST(Cell, EveryCoordinateButTheBudgetChangesTheStream) {
  std::set<std::uint64_t> seeds = {kCell.seed()};
  std::vector<Cell> changed = neighbours(kCell);
  EXPECT_EQ(changed.back().seed(), kCell.seed());
  changed.pop_back();
  for (const Cell& cell : changed) {
    EXPECT_TRUE(seeds.insert(cell.seed()).second);
  }
}

// Results of the time before there were other groupings keep their ids and their streams.
TEST(Cell, TheGroupingThatWasTheDefaultOnceIsNoCoordinate) {
  const std::string coordinates =
      "graph 12:inception-v3 cluster 12:p2-8xlarge-2 agent 6:random repetition 1 groups 60 root 7";
  EXPECT_EQ(kCell.id(),
            fmt::format("{:016x}", stable_hash("cell " + coordinates + " evaluations 100")));
  EXPECT_EQ(kCell.seed(), stable_hash("stream " + coordinates));
}

TEST(Cell, APolicyIsACoordinateWhereThereIsOne) {
  Cell with = kCell;
  with.policy = "net";
  with.training = "0123456789abcdef";
  Cell other_training = with;
  other_training.training = "fedcba9876543210";
  Cell as_it_is = with;
  as_it_is.learns = false;
  EXPECT_EQ(
      (std::set<std::string>{kCell.id(), with.id(), other_training.id(), as_it_is.id()}.size()),
      4U);
  EXPECT_NE(with.seed(), kCell.seed());
}

// Written one after the other without lengths, these two would be the same text.
TEST(Cell, NamesCannotRunIntoEachOther) {
  Cell a = kCell;
  a.graph = "x cluster 1:y";
  a.cluster = "z";
  Cell b = kCell;
  b.graph = "x";
  b.cluster = "y cluster 1:z";
  EXPECT_NE(a.id(), b.id());
  EXPECT_NE(a.seed(), b.seed());
}

TEST(Cell, OnlyRandomAgentsAreRepeated) {
  const Suite suite{.name = "s",
                    .graphs = {{"inception-v3"}},
                    .clusters = {"p2-8xlarge-2", "p2-8xlarge-4"},
                    .agents = {{"single-gpu"}, {"random"}},
                    .repetitions = 3};
  const std::vector<Cell> cells = cells_of(suite, 5);
  ASSERT_EQ(cells.size(), 2U * (1 + 3));
  EXPECT_EQ(cells[0].agent, "single-gpu");
  EXPECT_EQ(cells[1].agent, "random");
  EXPECT_EQ(cells[3].repetition, 2);
  EXPECT_EQ(cells[4].cluster, "p2-8xlarge-4");
  EXPECT_EQ(cells[7].root_seed, 5U);
}

TEST(Cell, GraphsMayHaveTheirOwnGroupsAndAgentsTheirOwnBudget) {
  const Suite suite{.name = "s",
                    .graphs = {{"inception-v3"}, {.graph = "nmt", .groups = 400}},
                    .clusters = {"p2-8xlarge-2"},
                    .agents = {{"random"}, {.agent = "hill-climb", .max_evaluations = 70}},
                    .max_evaluations = 50,
                    .groups = 60};
  const std::vector<Cell> cells = cells_of(suite, 0);
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0].groups, 60);
  EXPECT_EQ(cells[0].max_evaluations, 50);
  EXPECT_EQ(cells[1].max_evaluations, 70);
  EXPECT_EQ(cells[2].groups, 400);
}

TEST(Cell, GroupingFollowsFromTheGroupsUnlessItIsNamed) {
  Suite suite{.name = "s",
              .graphs = {{"inception-v3"}, {.graph = "nmt", .groups = 400}},
              .clusters = {"p2-8xlarge-2"},
              .agents = {{"random"}}};
  const auto groupings = [&] {
    std::vector<std::string> names;
    for (const Cell& cell : cells_of(suite, 0)) {
      names.push_back(cell.grouping + (cell.groups_are_given() ? " given" : ""));
    }
    return names;
  };
  EXPECT_EQ(groupings(), (std::vector<std::string>{"colocation", "neighbours given"}));
  suite.groups = 60;
  EXPECT_EQ(groupings(), (std::vector<std::string>{"neighbours given", "neighbours given"}));
  suite.grouping = "scope";
  EXPECT_EQ(groupings(), (std::vector<std::string>{"scope given", "scope given"}));
}

}  // namespace
}  // namespace emplace::bench::cell_test

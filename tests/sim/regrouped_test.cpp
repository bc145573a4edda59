// A regrouped problem is the one that would have been compiled with that grouping.

#include "support/problems.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/problem.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <vector>

namespace emplace::regrouped_test {
namespace {

std::vector<std::tuple<GroupId, GroupId, std::int64_t>> facts_of(std::span<const GroupEdge> edges) {
  std::vector<std::tuple<GroupId, GroupId, std::int64_t>> facts;
  for (const GroupEdge& edge : edges) {
    facts.emplace_back(edge.producer, edge.consumer, edge.bytes);
  }
  return facts;
}

void expect_equal(const Problem& a, const Problem& b) {
  ASSERT_EQ(a.num_ops(), b.num_ops());
  ASSERT_EQ(a.num_groups(), b.num_groups());
  ASSERT_EQ(a.num_devices(), b.num_devices());
  for (OpId op = 0; op < a.num_ops(); ++op) {
    ASSERT_EQ(a.grouping().group_of(op), b.grouping().group_of(op));
    ASSERT_EQ(a.priority_us(op), b.priority_us(op));
    for (DeviceId device = 0; device < a.num_devices(); ++device) {
      ASSERT_EQ(a.busy_us(op, device), b.busy_us(op, device));
      ASSERT_EQ(a.cost_source(op, device), b.cost_source(op, device));
    }
  }
  for (GroupId group = 0; group < a.num_groups(); ++group) {
    for (DeviceId device = 0; device < a.num_devices(); ++device) {
      EXPECT_EQ(a.group_cost_us(group, device), b.group_cost_us(group, device));
    }
    EXPECT_EQ(a.group_persistent_bytes(group), b.group_persistent_bytes(group));
    EXPECT_EQ(a.group_output_bytes(group), b.group_output_bytes(group));
    EXPECT_EQ(facts_of(a.group_out_edges(group)), facts_of(b.group_out_edges(group)));
    EXPECT_EQ(facts_of(a.group_in_edges(group)), facts_of(b.group_in_edges(group)));
  }
  EXPECT_EQ(facts_of(a.group_edges()), facts_of(b.group_edges()));
  EXPECT_THAT(a.group_order(), testing::ElementsAreArray(b.group_order()));
  EXPECT_EQ(a.mean_transfer_us(1000), b.mean_transfer_us(1000));
}

class Regrouped : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Engines, Regrouped, testing::Values("p2-8xlarge-4", "dgx-1-v100"),
                         [](const testing::TestParamInfo<const char*>& cluster) {
                           return cluster.index == 0 ? "placeto" : "physical";
                         });

TEST_P(Regrouped, EqualsAFreshlyCompiledProblem) {
  const auto graph = std::make_shared<const OpGraph>(load_graph("resnet-50"));
  const auto cluster = std::make_shared<const Cluster>(load_cluster(GetParam()));
  const auto grouped = [&](const char* strategy) {
    return find_grouping(strategy).group(*graph, 50);
  };
  const Problem fine(graph, grouped("colocation"), cluster);
  const Problem coarse(graph, grouped("neighbours"), cluster);
  expect_equal(fine.regrouped(grouped("neighbours")), coarse);
  expect_equal(coarse.regrouped(grouped("colocation")), fine);
}

TEST(RegroupedProblem, SharesTheOps) {
  const Problem problem = test::make_problem(test::chain_graph({10, 20, 30}, 0));
  const Problem two = problem.regrouped(Grouping({0, 0, 1}));
  EXPECT_EQ(&two.costs(), &problem.costs());
  EXPECT_EQ(two.uses().data(), problem.uses().data());
  EXPECT_EQ(two.group_cost_us(0, 0), 30);
}

TEST(RegroupedProblem, RefusesAGroupingOfAnotherGraph) {
  const Problem problem = test::make_problem(test::chain_graph({10, 20, 30}, 0));
  EXPECT_THROW(problem.regrouped(Grouping({0, 0})), InternalError);
}

}  // namespace
}  // namespace emplace::regrouped_test

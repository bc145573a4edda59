#include "support/problems.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/case_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/sim/problem.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>

namespace emplace::problem_test {
namespace {

using bench::read_case;
using bench::SimulationCase;
using ::testing::ElementsAre;

TEST(Problem, AConsumerOfSeveralOutputsCountsOnceWithTheLastOne) {
  // c reads a's output 0, then b, then a's output 1.
  const SimulationCase three = read_case(
      R"({"name":"c","devices":1,"nodes":[{"id":0,"cost_us":1,"outputs":[10,20]},
          {"id":1,"cost_us":1,"outputs":[30]},{"id":2,"cost_us":1,"outputs":[]}],
          "edges":[[0,0,2],[1,0,2],[0,1,2]],"placements":[]})",
      "f:1");
  const Problem& problem = three.problem;
  EXPECT_EQ(problem.num_parents(2), 2);
  ASSERT_EQ(problem.children(0).size(), 1U);
  EXPECT_EQ(problem.output_bytes(problem.children(0)[0].output), 20);
}

TEST(Problem, ChildrenStandInGraphOrderAndAlsoByName) {
  const SimulationCase fan = read_case(
      R"({"name":"c","devices":1,"nodes":[{"id":0,"name":"a","cost_us":1,"outputs":[1]},
          {"id":1,"name":"z","cost_us":1,"outputs":[]},{"id":2,"name":"b","cost_us":1,"outputs":[]}],
          "edges":[[0,0,1],[0,0,2]],"placements":[]})",
      "f:1");
  EXPECT_EQ(fan.problem.children(0)[0].op, 1);
  EXPECT_EQ(fan.problem.children_by_name(0)[0].op, 2);
}

// a -> b, a -> c, b -> d, c -> d with groups {a}, {b, c}, {d}.
Problem grouped_diamond() {
  return Problem(std::make_shared<OpGraph>(test::diamond_graph(100)), Grouping({0, 1, 1, 2}),
                 test::make_cluster({.num_devices = 2, .gap_after_op_us = 1}));
}

TEST(Problem, GroupsAddUpTheirMembers) {
  const Problem problem = grouped_diamond();
  EXPECT_DOUBLE_EQ(problem.group_cost_us(1, 0), 200 + 1 + 200 + 1);
  EXPECT_EQ(problem.group_output_bytes(1), 200);
}

TEST(Problem, AnOutputThatSeveralMembersReadCrossesOnce) {
  const Problem problem = grouped_diamond();
  ASSERT_EQ(problem.group_out_edges(0).size(), 1U);
  EXPECT_EQ(problem.group_out_edges(0)[0].bytes, 100);  // a's output, for b and c
  ASSERT_EQ(problem.group_in_edges(2).size(), 1U);
  EXPECT_EQ(problem.group_in_edges(2)[0].bytes, 200);  // b's and c's
  EXPECT_THAT(problem.group_order(), ElementsAre(0, 1, 2));
}

TEST(Problem, GroupsThatWaitForEachOtherAreOurMistake) {
  EXPECT_THROW(Problem(std::make_shared<OpGraph>(test::diamond_graph(100)), Grouping({0, 1, 1, 0}),
                       test::make_cluster({})),
               InternalError);
}

TEST(Problem, OnlyPlaceableDevicesAreOffered) {
  const Problem problem =
      test::make_problem(test::diamond_graph(0), {.num_devices = 2, .with_cpu = true});
  EXPECT_EQ(problem.num_devices(), 3);
  EXPECT_THAT(problem.placeable_devices(), ElementsAre(0, 1));
}

TEST(Problem, ValuesOfVariablesTakeNoMemoryBesideTheVariables) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3:training=false,batch=1"));
  Grouping grouping = ungrouped(*graph);
  const Problem problem(graph, std::move(grouping),
                        std::make_shared<const Cluster>(load_cluster("p2-8xlarge-2")));
  std::int64_t allocated = 0;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    if ((*graph)[op].kind == "variable") {
      allocated += problem.allocated_bytes(op);
    }
  }
  EXPECT_EQ(allocated, 0);
}

}  // namespace
}  // namespace emplace::problem_test

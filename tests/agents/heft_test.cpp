#include "agents/placing.hpp"
#include "agents/task_graphs.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::heft_test {
namespace {

using testing::ElementsAre;

// Figure 3(a) of the paper: P1 runs n2 and n8, P2 n4, n6, n9 and n10, P3 the rest.
TEST(Heft, PlacesTheExampleOfItsPaper) {
  EXPECT_THAT(place("heft", make_problem(example_of_2002())),
              ElementsAre(2, 0, 2, 1, 2, 1, 2, 0, 1, 1));
}

// Assigned in the order of the paper's upward ranks (108, 80, 80, 77,
// 69, 63.3, 44.3, 42.7, 35.7, 14.7) that placement ends after 80.
TEST(Heft, ItsScheduleOfTheExampleEndsAfter80) {
  const Problem problem = make_problem(example_of_2002());
  EXPECT_DOUBLE_EQ(finish_us(problem, place("heft", problem), {1, 3, 4, 2, 5, 6, 9, 7, 8, 10}), 80);
}

TEST(Heft, KeepsAChainTogether) {
  EXPECT_THAT(place("heft", test::make_problem(test::chain_graph({5, 5, 5}, 1))),
              ElementsAre(0, 0, 0));
}

TEST(Heft, PrefersADeviceThatEndsSooner) {
  // Two ops of 10 us that need nothing: the fast device takes both (10, 20), the slow one would end
  // at 20 too and comes later in the cluster.
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10}, {.name = "b", .cost_us = 10}}),
      {.num_devices = 1, .with_slow_gpu = true});
  EXPECT_THAT(place("heft", problem), ElementsAre(0, 0));
}

}  // namespace
}  // namespace emplace::agents::heft_test

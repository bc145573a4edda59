#include "agents/placing.hpp"
#include "agents/task_graphs.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::cpop_test {
namespace {

using testing::Each;
using testing::ElementsAre;

// The critical path n1, n2, n9, n10 takes 54 on P2, 66 on P1 and 63 on P3. Figure 3(b) of the
// paper: P1 runs n3 and n7, P3 n4, n6 and n8, P2 the rest.
TEST(Cpop, PlacesTheExampleOfItsPaper) {
  EXPECT_THAT(place("cpop", make_problem(example_of_2002())),
              ElementsAre(1, 1, 0, 2, 1, 2, 0, 2, 1, 1));
}

// Assigned by decreasing sums of ranks, ready tasks only, that placement ends after 86.
TEST(Cpop, ItsScheduleOfTheExampleEndsAfter86) {
  const Problem problem = make_problem(example_of_2002());
  EXPECT_DOUBLE_EQ(finish_us(problem, place("cpop", problem), {1, 2, 3, 7, 4, 5, 9, 6, 8, 10}), 86);
}

TEST(Cpop, KeepsAChainOnTheFastestDevice) {
  EXPECT_THAT(place("cpop", test::make_problem(test::chain_graph({5, 5, 5}, 1),
                                               {.num_devices = 2, .with_slow_gpu = true})),
              Each(0));
}

// Two chains; c -> d is longer and is the critical path, which begins where it is longest.
TEST(Cpop, FindsTheCriticalPathOfSeveralParts) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 5},
                                           {.name = "b", .cost_us = 20, .producers = {0}},
                                           {.name = "c", .cost_us = 30, .output_bytes = 5},
                                           {.name = "d", .cost_us = 40, .producers = {2}}}));
  EXPECT_THAT(place("cpop", problem), ElementsAre(1, 1, 0, 0));
}

}  // namespace
}  // namespace emplace::agents::cpop_test

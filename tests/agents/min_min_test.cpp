// Agents min-min and max-min.

#include "agents/placing.hpp"
#include "agents/task_graphs.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::min_min_test {
namespace {

using testing::ElementsAre;

Problem independent(std::vector<std::vector<double>> costs) {
  return make_problem(TaskGraph{std::move(costs), {}});
}

// Three short tasks and a long one on two equal processors: min-min pairs the short ones and ends
// after 5 + 20, max-min puts them beside the long one and ends after 20.
TEST(MinMin, TakesShortTasksFirst) {
  const Problem problem = independent({{5, 5}, {5, 5}, {5, 5}, {20, 20}});
  // 5 on P1, 5 on P2, 5 on P1, 20 on P2 from 5.
  EXPECT_THAT(place("min-min", problem), ElementsAre(0, 1, 0, 1));
}

TEST(MaxMin, TakesLongTasksFirst) {
  const Problem problem = independent({{5, 5}, {5, 5}, {5, 5}, {20, 20}});
  EXPECT_THAT(place("max-min", problem), ElementsAre(1, 1, 1, 0));
}

// Each task is short on one processor; both rules see that.
TEST(MinMin, AndMaxMinUseTheProcessorThatEndsATaskFirst) {
  const Problem problem = independent({{3, 9}, {9, 2}, {4, 9}});
  EXPECT_THAT(place("min-min", problem), ElementsAre(0, 1, 0));
  EXPECT_THAT(place("max-min", problem), ElementsAre(0, 1, 0));
}

// a(2) -> b(6) with 10 to transfer, and c(7): ready are a and c, then b. min-min: a on P1 until 2,
// c on P2 until 7 against 8 for b on P1; then b on P1. max-min: c on P1 until 7, a on P2, b after
// a.
TEST(MinMin, AndMaxMinCountOnlyReadyTasks) {
  const Problem problem = make_problem(TaskGraph{{{2, 2}, {6, 6}, {7, 7}}, {{1, 2, 10}}});
  EXPECT_THAT(place("min-min", problem), ElementsAre(0, 0, 1));
  EXPECT_THAT(place("max-min", problem), ElementsAre(1, 1, 0));
}

}  // namespace
}  // namespace emplace::agents::min_min_test

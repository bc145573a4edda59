#include "agents/placing.hpp"
#include "agents/task_graphs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::dls_test {
namespace {

using testing::ElementsAre;

// a(1) -> b(9) with 4 to transfer, and c(5), on two equal processors. Levels: a 10, b 9, c 5.
//   DL(a, -) = 10: a on P1 (0-1); then DL(b, P1) = 9 - 1, DL(b, P2) = 9 - 5, DL(c, P2) = 5 - 0,
//   so b on P1 (1-10), and c on P2
TEST(Dls, TakesTheHighestDynamicLevel) {
  EXPECT_THAT(place("dls", make_problem(TaskGraph{{{1, 1}, {9, 9}, {5, 5}}, {{1, 2, 4}}})),
              ElementsAre(0, 0, 1));
}

// a costs 4 and 8, b 6 and 6; medians are 6 and 6, levels too.
//   DL(a, P1) = 6 - 0 + (6 - 4) = 8 is the highest; a on P1 (0-4)
//   DL(b, P1) = 6 - 4 + 0 = 2, DL(b, P2) = 6
TEST(Dls, PrefersAProcessorThatIsFastForTheTask) {
  EXPECT_THAT(place("dls", make_problem(TaskGraph{{{8, 4}, {6, 6}}, {}})), ElementsAre(1, 0));
}

// Costs of 2, 4 and 9 have the median 4. P1 is busy with b (level 40) until 10, so that
//   DL(a, P1) = 4 - 10 + 2 = -4, DL(a, P2) = 4 - 0 + 0 = 4, DL(a, P3) = 4 - 0 - 5 = -1.
TEST(Dls, WeighsWaitingAgainstSpeed) {
  EXPECT_THAT(place("dls", make_problem(TaskGraph{{{2, 4, 9}, {10, 40, 90}}, {}})),
              ElementsAre(1, 0));
}

}  // namespace
}  // namespace emplace::agents::dls_test

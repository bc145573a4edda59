#include "agents/placing.hpp"
#include "agents/task_graphs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::peft_test {
namespace {

using testing::ElementsAre;

// Figure 2 of the paper: P2 runs n6, n8 and n10, P3 n5 and n9, P1 the rest.
TEST(Peft, PlacesTheExampleOfItsPaper) {
  EXPECT_THAT(place("peft", make_problem(example_of_2014())),
              ElementsAre(0, 0, 0, 0, 2, 1, 0, 1, 2, 1));
}

// By the paper's ranks (72.7, 43.7, 41.7, 41, 37, 31, 20.7, 17, 16.3, 0) PEFT ends after 122, and
// HEFT, whose order is its own, after 133.
TEST(Peft, ItsScheduleOfTheExampleEndsAfter122AndThatOfHeftAfter133) {
  const Problem problem = make_problem(example_of_2014());
  EXPECT_DOUBLE_EQ(finish_us(problem, place("peft", problem), {1, 4, 6, 2, 3, 5, 8, 7, 9, 10}),
                   122);
  EXPECT_DOUBLE_EQ(finish_us(problem, place("heft", problem), {1, 5, 6, 2, 4, 3, 8, 7, 9, 10}),
                   133);
}

// An op of 10 us on P1 and 12 us on P2, then one of 100 us on P1 and 1 us on P2, with 50 us in
// between: HEFT starts on P1 and stays there or pays; PEFT starts where the rest is short.
TEST(Peft, LooksAhead) {
  const Problem problem = make_problem(TaskGraph{{{10, 12}, {100, 1}}, {{1, 2, 50}}});
  EXPECT_THAT(place("heft", problem), ElementsAre(0, 1));
  EXPECT_THAT(place("peft", problem), ElementsAre(1, 1));
}

}  // namespace
}  // namespace emplace::agents::peft_test

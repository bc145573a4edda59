#include "search/memory_penalty.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace emplace::agents::memory_penalty_test {
namespace {

Evaluation fits(double us) { return {.status = EvaluationStatus::kOk, .step_time_us = us}; }

Evaluation overflows(double us, std::int64_t bytes) {
  return {.status = EvaluationStatus::kOutOfMemory, .step_time_us = us, .bytes_over = bytes};
}

TEST(MemoryPenalty, IsNothingWhereAllFits) {
  MemoryPenalty penalty;
  for (const double us : {100.0, 3.0, 70.0}) {
    EXPECT_EQ(penalty.objective_us(fits(us)), us);
    penalty.update(fits(us));
  }
  EXPECT_EQ(penalty.us_per_byte(), 0);
}

TEST(MemoryPenalty, BeginsWhereTheFirstOverflowCostsAsMuchAsItsStep) {
  MemoryPenalty penalty;
  EXPECT_EQ(penalty.objective_us(overflows(100, 50)), 200);
  EXPECT_EQ(penalty.us_per_byte(), 2);
  EXPECT_EQ(penalty.objective_us(overflows(80, 10)), 100);
  EXPECT_EQ(penalty.objective_us(fits(80)), 80);
}

TEST(MemoryPenalty, RisesSixteenfoldIn64MovesOutOfMemoryAndFallsByHalfIn64ThatFit) {
  MemoryPenalty penalty;
  penalty.objective_us(overflows(100, 100));
  for (int move = 0; move < 64; ++move) {
    penalty.update(overflows(100, 1));
  }
  EXPECT_NEAR(penalty.us_per_byte(), 16, 1e-9);
  for (int move = 0; move < 64; ++move) {
    penalty.update(fits(100));
  }
  EXPECT_NEAR(penalty.us_per_byte(), 8, 1e-9);
}

// A search that stands on the border pays so much for the last byte that it goes back.
TEST(MemoryPenalty, MakesAnyOverflowCostMoreThanAnyGainInTheEnd) {
  MemoryPenalty penalty;
  const Evaluation over = overflows(100, 1'000'000);
  const Evaluation slightly_over = overflows(90, 100);
  const Evaluation slow = fits(400);
  penalty.objective_us(over);
  EXPECT_LT(penalty.objective_us(slightly_over), penalty.objective_us(slow));
  for (int move = 0; move < 400; ++move) {
    penalty.update(slightly_over);
  }
  EXPECT_GT(penalty.objective_us(slightly_over), penalty.objective_us(slow));
}

TEST(MemoryPenalty, StaysFiniteHoweverLongNothingFits) {
  MemoryPenalty penalty;
  penalty.objective_us(overflows(1, 1));
  for (int move = 0; move < 100'000; ++move) {
    penalty.update(overflows(1, 1));
  }
  EXPECT_EQ(penalty.us_per_byte(), 1 << 20);
  for (int move = 0; move < 1'000'000; ++move) {
    penalty.update(fits(1));
  }
  EXPECT_EQ(penalty.us_per_byte(), 1.0 / (1 << 20));
}

// The price of the last move inside is 1 / 2 after 64 moves there; outside it rises sixteenfold.
TEST(MemoryPenalty, OfASearchThatGoesBackIsTwiceWhatItWasInside) {
  MemoryPenalty penalty;
  penalty.objective_us(overflows(1, 1));
  for (int move = 0; move < 64; ++move) {
    penalty.update(fits(1));
  }
  for (int move = 0; move < 64; ++move) {
    EXPECT_FALSE(penalty.is_lost()) << move;
    penalty.update(overflows(1, 1));
  }
  EXPECT_TRUE(penalty.is_lost());
  EXPECT_NEAR(penalty.us_per_byte(), 8, 1e-9);
  penalty.go_back();
  EXPECT_FALSE(penalty.is_lost());
  EXPECT_NEAR(penalty.us_per_byte(), 1, 1e-9);
}

TEST(MemoryPenalty, OfASearchThatIsLostAgainAndAgainDoublesUpToItsLimit) {
  MemoryPenalty penalty;
  penalty.objective_us(overflows(1, 1));
  for (int excursion = 1; excursion <= 40; ++excursion) {
    for (int move = 0; move < MemoryPenalty::kLongestExcursion; ++move) {
      penalty.update(overflows(1, 1));
    }
    penalty.go_back();
    EXPECT_EQ(penalty.us_per_byte(), 1 << std::min(excursion, 20));
  }
}

TEST(MemoryPenalty, ForgetsAnExcursionThatEnds) {
  MemoryPenalty penalty;
  penalty.objective_us(overflows(1, 1));
  for (int move = 0; move < 1000; ++move) {
    penalty.update(move % 64 == 63 ? fits(1) : overflows(1, 1));
    EXPECT_FALSE(penalty.is_lost());
  }
}

TEST(MemoryPenalty, OfWhatWasNotEvaluatedIsInfiniteAndTeachesNothing) {
  MemoryPenalty penalty;
  penalty.objective_us(overflows(1, 1));
  EXPECT_EQ(penalty.objective_us(Evaluation{}), std::numeric_limits<double>::infinity());
  penalty.update(Evaluation{});
  EXPECT_EQ(penalty.us_per_byte(), 1);
}

}  // namespace
}  // namespace emplace::agents::memory_penalty_test

#include "bench/src/run/improvement_history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace emplace::bench::improvement_history_test {
namespace {

using agents::EvaluationStatus;

Improvement at(std::int64_t evaluations, double step_time_us, std::int64_t bytes_over = 0) {
  return {.evaluations = evaluations,
          .evaluation = {
              .status = bytes_over > 0 ? EvaluationStatus::kOutOfMemory : EvaluationStatus::kOk,
              .step_time_us = step_time_us,
              .bytes_over = bytes_over}};
}

std::vector<std::int64_t> evaluations_of(const std::vector<Improvement>& history) {
  std::vector<std::int64_t> evaluations;
  for (const Improvement& improvement : history) {
    evaluations.push_back(improvement.evaluations);
  }
  return evaluations;
}

TEST(ImprovementHistory, KeepsTheFirstTheLastAndStepsOfTheShare) {
  const std::vector<Improvement> all = {at(1, 1000), at(2, 950), at(4, 901), at(5, 900),
                                        at(7, 850),  at(8, 811), at(9, 809)};
  // 10 % below 1000 is 900, and 10 % below that is 810.
  EXPECT_THAT(evaluations_of(thin_out(all, 0.1)), testing::ElementsAre(1, 5, 9));
  EXPECT_THAT(evaluations_of(thin_out(all, 0)), testing::ElementsAre(1, 2, 4, 5, 7, 8, 9));
  EXPECT_THAT(evaluations_of(thin_out({all.data(), 6}, 0.1)), testing::ElementsAre(1, 5, 8));
  EXPECT_THAT(evaluations_of(thin_out({all.data(), 1}, 0.1)), testing::ElementsAre(1));
  EXPECT_TRUE(thin_out({}, 0.1).empty());
}

// Search 0 finds 90 and 70, search 1 in the meantime 80 and 60. The evaluator tells of what is new
// as it comes, and then of all that it counts: those of search 0 first.
TEST(ImprovementHistory, TellsWhenAPlacementAsGoodWasFirstThere) {
  ImprovementClock clock;
  std::vector<double> told_at_s;
  const auto begin = std::chrono::steady_clock::now();
  const auto tell = [&](std::int64_t evaluations, double us) {
    clock.note({.evaluations = evaluations, .evaluation = at(evaluations, us).evaluation});
    told_at_s.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  for (const double us : {100, 90, 80, 60}) {
    tell(1, us);
  }
  std::vector<agents::Incumbent::Improvement> counted;
  for (const auto& [evaluations, us] : {std::pair(1, 100.0), {2, 90.0}, {5, 70.0}, {9, 60.0}}) {
    counted.push_back({.evaluations = evaluations, .evaluation = at(evaluations, us).evaluation});
    tell(evaluations, us);
  }
  const std::vector<Improvement> timed = clock.timed(counted);
  EXPECT_THAT(evaluations_of(timed), testing::ElementsAre(1, 2, 5, 9));
  const std::size_t first[] = {0, 1, 3, 3};
  for (std::size_t i = 0; i < timed.size(); ++i) {
    EXPECT_NEAR(timed[i].seconds, told_at_s[first[i]], 1e-3) << i;
  }
}

// What fits is better than what does not, however long it takes.
TEST(ImprovementHistory, KeepsTheFirstThatFits) {
  const std::vector<Improvement> all = {at(1, 1000, 1), at(2, 999, 1), at(3, 1005), at(4, 1004),
                                        at(5, 1003)};
  EXPECT_THAT(evaluations_of(thin_out(all, 0.1)), testing::ElementsAre(1, 3, 5));
}

// The curve that is kept is never further above the true one than the share.
TEST(ImprovementHistory, StaysNearTheWholeCurve) {
  constexpr double kShare = 0.01;
  std::vector<Improvement> all;
  double us = 5000;
  for (int i = 1; i <= 3000; ++i) {
    us *= i % 7 == 0 ? 0.999 : 0.99999;
    all.push_back(at(3 * i, us));
  }
  const std::vector<Improvement> kept = thin_out(all, kShare);
  EXPECT_LT(kept.size(), 100U);
  std::size_t last = 0;
  for (const Improvement& improvement : all) {
    while (last + 1 < kept.size() && kept[last + 1].evaluations <= improvement.evaluations) {
      ++last;
    }
    EXPECT_LT((1 - kShare) * kept[last].evaluation.step_time_us,
              improvement.evaluation.step_time_us);
  }
}

}  // namespace
}  // namespace emplace::bench::improvement_history_test

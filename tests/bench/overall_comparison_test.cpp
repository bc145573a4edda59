#include <emplace/bench/overall_comparison.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace emplace::bench::overall_comparison_test {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Optional;

ReportRow row_of(const std::string& agent, double step_time_us) {
  return {.agent = agent,
          .repetitions = 1,
          .out_of_memory = step_time_us > 0 ? 0 : 1,
          .step_time_us = step_time_us};
}

// b is twice as slow as a on one graph and half as slow again on the other; c cannot hold the
// second, on which nothing else than a and b fits.
std::vector<ReportTable> tables() {
  return {{.graph = "g1", .rows = {row_of("a", 100), row_of("c", 120), row_of("b", 200)}},
          {.graph = "g2", .rows = {row_of("a", 40), row_of("b", 60), row_of("c", 0)}},
          {.graph = "g3", .rows = {row_of("a", 0), row_of("b", 0), row_of("c", 0)}}};
}

TEST(OverallComparison, HasTheProfileOfEachAgentOverAllProblems) {
  const OverallComparison comparison = compare_over_all(tables());
  EXPECT_EQ(comparison.problems, 2);  // on the third nothing fits
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[0].agent, "a");
  EXPECT_THAT(comparison.rows[0].times_best, ElementsAre(1, 1));
  EXPECT_EQ(comparison.rows[0].over_best, std::optional(1.0));
  EXPECT_EQ(comparison.rows[1].agent, "b");
  EXPECT_THAT(comparison.rows[1].times_best, ElementsAre(1.5, 2));
  EXPECT_THAT(comparison.rows[1].over_best, Optional(DoubleNear(std::sqrt(3), 1e-12)));
  // Nearer to the best than b where it fits, but on one graph less.
  EXPECT_EQ(comparison.rows[2].agent, "c");
  EXPECT_THAT(comparison.rows[2].times_best, ElementsAre(1.2));
  EXPECT_FALSE(comparison.rows[2].over_best);  // its mean would be over other graphs
}

TEST(OverallComparison, ComparesWithTheBestWhereBothFit) {
  const OverallComparison comparison = compare_over_all(tables());
  EXPECT_FALSE(comparison.rows.at(0).against_best);
  EXPECT_THAT(
      comparison.rows.at(1).against_best,
      Optional(AllOf(Field(&PairedComparison::pairs, 2), Field(&PairedComparison::greater, 2),
                     Field(&PairedComparison::p, 0.5))));
  EXPECT_THAT(comparison.rows.at(2).against_best,
              Optional(AllOf(Field(&PairedComparison::pairs, 1),
                             Field(&PairedComparison::ratio, DoubleEq(1.2)))));
  // Of two differences of one sign Wilcoxon's p is 1/2, of one it is 1; Holm doubles the least.
  EXPECT_EQ(comparison.rows.at(1).corrected_p, 1);
}

TEST(OverallComparison, OfNothingIsEmpty) {
  EXPECT_TRUE(compare_over_all({}).rows.empty());
  const OverallComparison nothing_fits = compare_over_all(std::vector{tables()[2]});
  EXPECT_EQ(nothing_fits.problems, 0);
  EXPECT_TRUE(nothing_fits.rows.at(1).times_best.empty());
  EXPECT_FALSE(nothing_fits.rows[1].against_best);
}

}  // namespace
}  // namespace emplace::bench::overall_comparison_test

#include <emplace/bench/holm.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace emplace::bench::holm_test {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 4 x 0.01, 3 x 0.02, then 2 x 0.03 and 1 x 0.04, which must not be less than what stands before.
TEST(Holm, MultipliesByTheTestsThatAreLeft) {
  EXPECT_THAT(holm(std::vector{0.03, 0.01, 0.04, 0.02}),
              ElementsAre(DoubleEq(0.06), DoubleEq(0.04), DoubleEq(0.06), DoubleEq(0.06)));
}

TEST(Holm, IsAtMostOneAndKeepsASingleTest) {
  EXPECT_THAT(holm(std::vector{0.6, 0.5}), ElementsAre(1, 1));
  EXPECT_THAT(holm(std::vector{0.03}), ElementsAre(0.03));
  EXPECT_THAT(holm({}), IsEmpty());
}

}  // namespace
}  // namespace emplace::bench::holm_test

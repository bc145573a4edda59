#include <emplace/base/counted.hpp>

#include <gtest/gtest.h>

namespace emplace::counted_test {
namespace {

TEST(Counted, TellsOneFromSeveral) {
  EXPECT_EQ(counted(0, "cell"), "0 cells");
  EXPECT_EQ(counted(1, "cell"), "1 cell");
  EXPECT_EQ(counted(2, "cell"), "2 cells");
  EXPECT_EQ(counted(1, "policy", "policies"), "1 policy");
  EXPECT_EQ(counted(3, "policy", "policies"), "3 policies");
}

}  // namespace
}  // namespace emplace::counted_test

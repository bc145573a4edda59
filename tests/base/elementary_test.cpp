#include <emplace/base/elementary.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace emplace::elementary_test {
namespace {

// Relative to the C library, which is exact to about 1e-16.
void expect_close(double found, double expected) {
  EXPECT_NEAR(found, expected, 2e-15 * std::abs(expected)) << expected;
}

TEST(Elementary, EqualsTheLibraryWithinRounding) {
  for (double x = -50; x <= 50; x += 0.0371) {
    expect_close(exp_of(x), std::exp(x));
  }
  for (double x = -700; x <= 700; x += 0.37) {
    expect_close(exp_of(x), std::exp(x));
  }
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    expect_close(log_of(x), std::log(x));
  }
  for (double x = 0.5; x < 2; x += 1e-3) {
    EXPECT_NEAR(log_of(x), std::log(x), 1e-15);
  }
}

TEST(Elementary, IsExactWhereItMattersAndFiniteAtTheEnds) {
  EXPECT_EQ(exp_of(0), 1);
  EXPECT_EQ(log_of(1), 0);
  EXPECT_EQ(exp_of(-1e9), 0);
  EXPECT_EQ(exp_of(1e9), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace emplace::elementary_test

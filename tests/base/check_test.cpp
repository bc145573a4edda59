#include <emplace/base/check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::check_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Check, LetsATrueConditionPassAndEvaluatesItOnce) {
  int evaluated = 0;
  EMPLACE_CHECK(++evaluated == 1, "counted {}", evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST(Check, ThrowsWithMessageConditionAndPlace) {
  try {
    EMPLACE_CHECK(1 + 1 == 3, "sum of {} and {}", 1, 1);
    FAIL() << "did not throw";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("sum of 1 and 1"), HasSubstr("1 + 1 == 3"),
                                    HasSubstr("check_test.cpp:"), Not(HasSubstr("/"))));
  }
}

}  // namespace
}  // namespace emplace::check_test

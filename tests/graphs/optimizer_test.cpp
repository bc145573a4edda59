#include "support/errors.hpp"

#include <emplace/graphs/optimizer.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::optimizer_test {
namespace {

TEST(Optimizer, KeepsAsManyNumbersAsItsUpdateRuleHas) {
  EXPECT_EQ(find_optimizer("sgd").slots, 0);
  EXPECT_EQ(find_optimizer("momentum").slots, 1);
  EXPECT_EQ(find_optimizer("rmsprop").slots, 2);
  EXPECT_EQ(find_optimizer("adam").slots, 2);
}

TEST(Optimizer, IsListedSortedByName) {
  std::string_view last;
  for (const Optimizer& optimizer : optimizers()) {
    EXPECT_LT(last, optimizer.name);
    last = optimizer.name;
  }
}

TEST(Optimizer, AnUnknownNameSuggestsTheNearest) {
  EXPECT_THAT(test::error_of(ErrorCode::kUnknownName, [&] { find_optimizer("adams"); }),
              testing::HasSubstr("adam"));
}

}  // namespace
}  // namespace emplace::optimizer_test

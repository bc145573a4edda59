#include <gmock/gmock.h>
#include <graphs/src/model/strides.hpp>
#include <gtest/gtest.h>

namespace emplace {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(Strides, AxesThatLieTogetherAreJoinedWithoutACopy) {
  EXPECT_THAT(contiguous_strides({2, 3, 4}), ElementsAre(12, 4, 1));
  EXPECT_THAT(strides_in_shape({2, 3, 4}, {12, 4, 1}, {6, 2, 2}), Optional(ElementsAre(4, 2, 1)));
  // [2, 3, 4] seen as [2, 4, 3]: the first axis can be cut, the others cannot be joined.
  EXPECT_THAT(strides_in_shape({2, 4, 3}, {12, 1, 4}, {1, 2, 4, 3}),
              Optional(ElementsAre(24, 12, 1, 4)));
  EXPECT_EQ(strides_in_shape({2, 4, 3}, {12, 1, 4}, {2, 12}), std::nullopt);
  EXPECT_EQ(strides_in_shape({2, 4, 3}, {12, 1, 4}, {8, 3}), std::nullopt);
}

TEST(Strides, ABlockKeepsTheStridesOfTheWhole) {
  // The first 4 of 8 columns of [6, 8]: rows of a batch are joined, rows and columns are not.
  EXPECT_THAT(strides_in_shape({2, 3, 4}, {24, 8, 1}, {6, 4}), Optional(ElementsAre(8, 1)));
  EXPECT_THAT(strides_in_shape({6, 4}, {8, 1}, {6, 2, 2}), Optional(ElementsAre(8, 2, 1)));
  EXPECT_EQ(strides_in_shape({6, 4}, {8, 1}, {24}), std::nullopt);
}

TEST(Strides, RepeatsAreJoinedWithRepeatsOnly) {
  EXPECT_THAT(strides_in_shape({2, 3, 4}, {0, 0, 1}, {6, 4}), Optional(ElementsAre(0, 1)));
  EXPECT_EQ(strides_in_shape({2, 3, 4}, {4, 0, 1}, {6, 4}), std::nullopt);
}

TEST(Strides, SizesOf0And1DoNotMatter) {
  EXPECT_THAT(strides_in_shape({2, 0}, {7, 9}, {0, 3}), Optional(ElementsAre(3, 1)));
  EXPECT_THAT(strides_in_shape({}, {}, {1, 1}), Optional(ElementsAre(1, 1)));
  EXPECT_THAT(strides_in_shape({4, 1}, {1, 99}, {2, 2}), Optional(ElementsAre(2, 1)));
  EXPECT_THAT(normal_strides({4, 1}, {1, 99}), ElementsAre(1, 1));
}

TEST(Strides, OfABatchOfMatrices) {
  EXPECT_TRUE(is_batch_of_matrices({2, 4, 6, 8}, {192, 48, 8, 1}));
  EXPECT_TRUE(is_batch_of_matrices({2, 4, 8, 6}, {192, 48, 1, 8}));   // transposed each
  EXPECT_FALSE(is_batch_of_matrices({2, 4, 6, 8}, {192, 8, 32, 1}));  // heads side by side
  EXPECT_TRUE(is_batch_of_matrices({4, 6, 8}, {8, 32, 1}));
  EXPECT_TRUE(is_batch_of_matrices({6, 8}, {1, 6}));
}

TEST(Strides, TellTheOrderInMemory) {
  const auto order = stored_order({2, 4, 3}, {12, 1, 4});
  ASSERT_TRUE(order);
  EXPECT_THAT(order->shape, ElementsAre(2, 3, 4));
  EXPECT_THAT(order->perm, ElementsAre(0, 2, 1));
  EXPECT_FALSE(stored_order({2, 3, 4}, {12, 4, 1}));
  EXPECT_FALSE(stored_order({3, 2}, {0, 1}));
  // Of columns of a transposed matrix, the result of a function has no gaps.
  EXPECT_THAT(dense_strides({4, 3}, {1, 8}), ElementsAre(1, 4));
  EXPECT_THAT(dense_strides({4, 3}, {0, 1}), ElementsAre(3, 1));
}

}  // namespace
}  // namespace emplace

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>
#include <unordered_set>

namespace emplace::ids_test {
namespace {

template <typename One, typename Other>
concept Comparable = requires(One one, Other other) { one == other; };

template <typename One, typename Other>
concept Ordered = requires(One one, Other other) { one < other; };

template <typename Container, typename Index>
concept Indexable = requires(Container elements, Index index) { elements[index]; };

TEST(Ids, AreAsCheapAsIntegers) {
  static_assert(sizeof(OpId) == sizeof(std::int32_t));
  static_assert(std::is_trivially_copyable_v<OpId>);
}

TEST(Ids, OfTwoKindsNeitherConvertNorCompareNorIndex) {
  static_assert(!std::convertible_to<GroupId, OpId>);
  static_assert(std::convertible_to<int, OpId> && std::convertible_to<OpId, int>);
  static_assert(Comparable<OpId, OpId> && Comparable<OpId, int> && !Comparable<OpId, GroupId>);
  static_assert(Ordered<OpId, OpId> && Ordered<OpId, int> && !Ordered<OpId, GroupId>);
  static_assert(Indexable<IdVector<OpId, int>, OpId> && !Indexable<IdVector<OpId, int>, GroupId>);
  static_assert(Indexable<IdSpan<OpId, int>, OpId> && !Indexable<IdSpan<OpId, int>, GroupId>);
  // Where both number the same, it is said.
  EXPECT_EQ(GroupId(OpId(3)), 3);
}

TEST(Ids, CountAndAreWrittenAsIntegers) {
  OpId op = 0;
  EXPECT_EQ(op++, 0);
  EXPECT_EQ(++op, 2);
  op += 3;
  EXPECT_EQ(--op, 4);
  EXPECT_EQ(op - 1, 3);
  EXPECT_EQ(fmt::format("{:3}", op), "  4");
  EXPECT_TRUE(std::unordered_set<OpId>{op}.contains(4));
}

}  // namespace
}  // namespace emplace::ids_test

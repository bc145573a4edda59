#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace emplace::id_vector_test {
namespace {

using ::testing::ElementsAre;

TEST(IdVector, IsIndexedByIdsAndByPositions) {
  IdVector<OpId, double> costs(3, 1.5);
  const OpId last = costs.end_id() - 1;
  costs[last] = 4;
  EXPECT_EQ(costs[std::size_t{2}], 4);
  EXPECT_THAT(costs, ElementsAre(1.5, 1.5, 4));
}

TEST(IdVector, TakesOverAVector) {
  std::vector<DeviceId> devices{2, 0, 1};
  const DeviceId* const data = devices.data();
  const IdVector<GroupId, DeviceId> by_group = std::move(devices);
  EXPECT_EQ(by_group.data(), data);
  EXPECT_EQ(by_group[GroupId{0}], 2);
}

TEST(IdSpan, ShowsTheElementsOfAnIdVector) {
  IdVector<OpId, int> numbers{5, 6, 7};
  const IdSpan<OpId, int> view = numbers;
  view[OpId{1}] = 9;
  const IdSpan<OpId, const int> constant_view = view;
  EXPECT_EQ(constant_view.end_id(), 3);
  EXPECT_THAT(numbers, ElementsAre(5, 9, 7));
}

}  // namespace
}  // namespace emplace::id_vector_test

#include "agents/placing.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::m_topo_test {
namespace {

using testing::ElementsAre;

// A chain with 10, 20, 30 and 40 bytes: an even share of two devices is 50, and the largest is 40.
Problem four_sizes(std::int64_t memory_bytes) {
  return test::make_problem(
      test::make_graph({{.name = "a", .persistent_bytes = 10},
                        {.name = "b", .producers = {0}, .persistent_bytes = 20},
                        {.name = "c", .producers = {1}, .persistent_bytes = 30},
                        {.name = "d", .producers = {2}, .persistent_bytes = 40}}),
      {.memory_bytes = memory_bytes});
}

TEST(MTopo, FillsADeviceToAnEvenShareAndTheLargestGroup) {
  // 10 + 20 + 30 = 60 <= 90 < 100.
  EXPECT_THAT(place("m-topo", four_sizes(1000)), ElementsAre(0, 0, 0, 1));
}

TEST(MTopo, StopsWhereTheDeviceIsFull) {
  // 10 + 20 = 30 <= 60 = 30 + 30 fits exactly; d goes on.
  EXPECT_THAT(place("m-topo", four_sizes(60)), ElementsAre(0, 0, 0, 1));
}

// 10 + 20 fit on the first device, 30 on the second, and 40 on neither: the repair moves a and
// exchanges c for d.
TEST(MTopo, IsRepairedWhereTheLastDeviceIsFullToo) {
  EXPECT_THAT(place("m-topo", four_sizes(59)), ElementsAre(1, 0, 0, 1));
}

TEST(MTopo, CountsOutputsToo) {
  // Four groups of 25 bytes: share 50, largest 25, so three fit on the first device.
  EXPECT_THAT(place("m-topo", test::make_problem(test::chain_graph({1, 1, 1, 1}, 25))),
              ElementsAre(0, 0, 0, 1));
}

}  // namespace
}  // namespace emplace::agents::m_topo_test

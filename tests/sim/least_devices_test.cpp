// How many devices are needed at least.

#include "support/problems.hpp"

#include <emplace/sim/memory_shortage.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace emplace::least_devices_test {
namespace {

std::optional<std::int64_t> least(const OpGraph& graph, std::int64_t memory_bytes) {
  return least_devices(test::make_problem(graph, {.num_devices = 1, .memory_bytes = memory_bytes}));
}

TEST(LeastDevices, HaveRoomForWhatIsThereAtOnce) {
  // While c runs there are 20 bytes of weights, the 200 that it reads and its own 10.
  const OpGraph graph =
      test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100, .persistent_bytes = 20},
                        {.name = "b", .cost_us = 10, .output_bytes = 100, .producers = {0}},
                        {.name = "c", .cost_us = 10, .output_bytes = 10, .producers = {0, 1}}});
  EXPECT_EQ(least(graph, 230), 1);
  EXPECT_EQ(least(graph, 229), 2);
  EXPECT_EQ(least(graph, 10), std::nullopt);  // a fits nowhere
}

TEST(LeastDevices, HaveRoomForWholeGroups) {
  const OpGraph weights = test::make_graph({{.name = "a", .persistent_bytes = 60},
                                            {.name = "b", .persistent_bytes = 60},
                                            {.name = "c", .persistent_bytes = 60}});
  EXPECT_EQ(least(weights, 100), 3);  // one on each, though two have room for the sum
  EXPECT_EQ(least(weights, 120), 2);
}

}  // namespace
}  // namespace emplace::least_devices_test

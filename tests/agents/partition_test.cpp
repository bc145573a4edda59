// Agents metis and scotch, where they were built.

#include "agents/placing.hpp"
#include "support/problems.hpp"
#include "support/test_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace emplace::agents::partition_test {
namespace {

class Partition : public testing::TestWithParam<std::string> {};

std::vector<std::string> built() {
  std::vector<std::string> names = {"metis", "scotch"};
  std::erase_if(names, [](const std::string& name) {
    return std::ranges::count(AgentRegistry::global().names(), name) == 0;
  });
  return names;
}

// Two chains of four ops with 1000 bytes on each edge, and 1 byte from one to the other.
TEST_P(Partition, CutsTheLightEdge) {
  std::vector<test::OpSketch> ops;
  for (OpId op = 0; op < 8; ++op) {
    ops.push_back({.name = "op_" + std::to_string(op), .cost_us = 10});
    ops.back().output_bytes = op == 3 ? 1 : 1000;
    if (op > 0) {
      ops.back().producers = {op - 1};
    }
  }
  const std::vector<DeviceId> devices =
      place(GetParam(), test::make_problem(test::make_graph(ops)));
  for (std::size_t op = 0; op < 8; ++op) {
    EXPECT_EQ(devices[op], devices[op < 4 ? 0 : 7]) << "op " << op;
  }
  EXPECT_NE(devices.front(), devices.back());
}

std::vector<test::OpSketch> independent_ops(int count) {
  std::vector<test::OpSketch> ops;
  for (int op = 0; op < count; ++op) {
    ops.push_back({.name = "op_" + std::to_string(op), .cost_us = 10});
  }
  return ops;
}

TEST_P(Partition, BalancesTheWork) {
  const std::vector<DeviceId> devices = place(
      GetParam(), test::make_problem(test::make_graph(independent_ops(12)), {.num_devices = 4}));
  for (DeviceId device = 0; device < 4; ++device) {
    EXPECT_EQ(std::ranges::count(devices, device), 3);
  }
}

TEST_P(Partition, GivesAFasterDeviceMoreWork) {
  const std::vector<DeviceId> devices =
      place(GetParam(), test::make_problem(test::make_graph(independent_ops(12)),
                                           {.num_devices = 1, .with_slow_gpu = true}));
  EXPECT_EQ(std::ranges::count(devices, DeviceId(0)), 8);
  EXPECT_EQ(std::ranges::count(devices, DeviceId(1)), 4);
}

// One op of a million and seven of one: on eight devices some of the libraries' parts run empty.
TEST_P(Partition, IsSilentWherePartsRunEmpty) {
  std::vector<test::OpSketch> ops = independent_ops(8);
  ops[2].cost_us = 1e6;
  const Problem problem = test::make_problem(test::make_graph(ops), {.num_devices = 8});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  place(GetParam(), problem);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(Partition, PlacesFewerGroupsThanDevicesAndOpsWithoutCost) {
  EXPECT_EQ(
      place(GetParam(), test::make_problem(test::chain_graph({10, 10}, 5), {.num_devices = 6}))
          .size(),
      2u);
  EXPECT_EQ(place(GetParam(), test::make_problem(test::chain_graph({0, 0, 0}, 0))).size(), 3u);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Partition);
INSTANTIATE_TEST_SUITE_P(Libraries, Partition, testing::ValuesIn(built()), test::kNamedByParameter);

}  // namespace
}  // namespace emplace::agents::partition_test

// The rules of the `grappler` model (docs/concepts/simulation.md), as worked examples: a serial
// channel for each ordered pair of devices, which each transfer keeps for latency + bytes /
// bandwidth, and one transfer for each output and device that wants it.

#include "support/machines.hpp"

#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace emplace::grappler_test {
namespace {

using test::make_graph;

// 3 us and 10 bytes/us: 100 bytes keep a channel for 13 us.
constexpr GrapplerModel kModel{.latency_us = 3, .bytes_per_us = 10};

StepRecord run(OpGraph graph, std::vector<DeviceId> placement,
               const GrapplerModel& model = kModel) {
  const Problem problem = test::make_problem(std::move(graph), test::make_grappler(3, model));
  return Simulator(problem).record(Placement(std::move(placement)));
}

// Two producers of 100 bytes, which end at 5 and at 10 on device 0, and a reader of each.
OpGraph two_senders() {
  return make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100},
                     {.name = "b", .cost_us = 5, .output_bytes = 100},
                     {.name = "a_reader", .cost_us = 1, .producers = {0}},
                     {.name = "b_reader", .cost_us = 1, .producers = {1}}});
}

TEST(Grappler, AChannelSendsOneTransferAtATimeLatencyIncluded) {
  // a keeps the channel from 5 to 18; b, there since 10, from 18 to 31.
  const StepRecord record = run(two_senders(), {0, 0, 1, 1});
  test::expect_transfer(record, 0, 0, 1, 5, 18);
  test::expect_transfer(record, 1, 1, 1, 10, 31);
  EXPECT_DOUBLE_EQ(record.makespan_us, 32);
}

TEST(Grappler, EachOrderedPairOfDevicesHasAChannel) {
  // To other devices:
  const StepRecord apart = run(two_senders(), {0, 0, 1, 2});
  test::expect_transfer(apart, 0, 0, 1, 5, 18);
  test::expect_transfer(apart, 1, 1, 2, 10, 23);
  // From other devices:
  const StepRecord from = run(two_senders(), {0, 1, 2, 2});
  test::expect_transfer(from, 0, 0, 2, 5, 18);
  test::expect_transfer(from, 1, 1, 2, 5, 18);
  // In opposite directions:
  const StepRecord opposite = run(two_senders(), {0, 1, 1, 0});
  test::expect_transfer(opposite, 0, 0, 1, 5, 18);
  test::expect_transfer(opposite, 1, 1, 0, 5, 18);
}

TEST(Grappler, AnOutputIsSentOnceToEachDeviceThatWantsIt) {
  OpGraph graph = make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100},
                              {.name = "b", .producers = {0}},
                              {.name = "c", .producers = {0}},
                              {.name = "d", .producers = {0}}});
  const StepRecord record = run(std::move(graph), {0, 1, 1, 2});
  ASSERT_EQ(record.transfers.size(), 2u);
  test::expect_transfer(record, 0, 0, 1, 5, 18);
  test::expect_transfer(record, 1, 0, 2, 5, 18);
}

TEST(Grappler, OutputsOfOneOpGoOneAfterTheOther) {
  OpGraph graph = make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100}, {.name = "b"}});
  graph[0].outputs.push_back({.bytes = 20});
  add_dependency(graph, 0, 1, 1);
  add_dependency(graph, 0, 0, 1);
  const StepRecord record = run(std::move(graph), {0, 1});
  test::expect_transfer(record, 0, 0, 1, 5, 5 + 13);
  test::expect_transfer(record, 1, 0, 1, 5, 5 + 13 + 5);
}

TEST(Grappler, NoBytesWaitForTheChannelToo) {
  // a's 100 bytes keep the channel from 5 to 18; b's nothing, there since 10, takes the latency.
  OpGraph graph = two_senders();
  graph[1].outputs[0].bytes = 0;
  test::expect_transfer(run(graph, {0, 0, 1, 1}), 1, 1, 1, 10, 21);
  // Without latency, it still comes after.
  test::expect_transfer(run(graph, {0, 0, 1, 1}, {.latency_us = 0, .bytes_per_us = 10}), 1, 1, 1,
                        10, 15);
}

TEST(Grappler, ALatencyCountsOnASlowChannelToo) {
  // 3 us at 0.1 bytes/us are worth less than a byte, and are 3 us all the same.
  OpGraph graph = test::chain_graph({5, 1}, 0);
  test::expect_transfer(run(graph, {0, 1}, {.latency_us = 3, .bytes_per_us = 0.1}), 0, 0, 1, 5, 8);
}

TEST(Grappler, AControlEdgeMovesNothing) {
  OpGraph graph = make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100}, {.name = "b"}});
  add_dependency(graph, 0, Dependency::kControl, 1);
  const StepRecord record = run(std::move(graph), {0, 1});
  EXPECT_TRUE(record.transfers.empty());
  EXPECT_DOUBLE_EQ(record.start_us[1], 5);
}

TEST(Grappler, DevicesRunOneOpAtATime) {
  OpGraph graph = make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100},
                              {.name = "b", .cost_us = 5, .output_bytes = 100},
                              {.name = "a_reader", .cost_us = 20, .producers = {0}},
                              {.name = "b_reader", .cost_us = 20, .producers = {1}}});
  // a 0 to 10 and b 10 to 15 on device 0; the channel has a until 23, and b until 36.
  const StepRecord record = run(std::move(graph), {0, 0, 1, 1});
  EXPECT_DOUBLE_EQ(record.start_us[2], 23);
  EXPECT_DOUBLE_EQ(record.start_us[3], 43);  // when device 1 is free
}

}  // namespace
}  // namespace emplace::grappler_test

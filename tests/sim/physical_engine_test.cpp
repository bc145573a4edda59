// The rules of the `physical` engine (docs/concepts/simulation.md) about time, as worked examples:
// numbers are round, and the derivation of each time stands beside it.

#include "support/machines.hpp"

#include <emplace/base/check.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::physical_engine_test {
namespace {

using test::bus;
using test::make_graph;
using test::make_machine;
using test::make_problem;
using test::mesh;

// 10 bytes/us after 2 us.
constexpr double kBytesPerUs = 10;
constexpr double kLatencyUs = 2;

Link link(LinkSharing sharing = LinkSharing::kFair) {
  return {.bytes_per_us = kBytesPerUs, .latency_us = kLatencyUs, .sharing = sharing};
}

StepRecord run(OpGraph graph, std::shared_ptr<const Cluster> cluster,
               std::vector<DeviceId> placement) {
  const Problem problem = make_problem(std::move(graph), std::move(cluster));
  return Simulator(problem).record(Placement(std::move(placement)));
}

void expect_op(const StepRecord& record, std::size_t op, double start_us, double end_us) {
  EXPECT_DOUBLE_EQ(record.start_us[op], start_us) << "op " << op;
  EXPECT_DOUBLE_EQ(record.end_us[op], end_us) << "op " << op;
}

// `count` ops of `cost_us` that wait for nothing and send nothing.
OpGraph independent_ops(int count, double cost_us) {
  std::vector<test::OpSketch> ops;
  for (int op = 0; op < count; ++op) {
    ops.push_back({.name = "op_" + std::to_string(op), .cost_us = cost_us});
  }
  return make_graph(ops);
}

TEST(PhysicalEngine, AChainOnOneDeviceTakesTheSumOfItsCosts) {
  const StepRecord record =
      run(test::chain_graph({5, 7, 11}, 1000), make_machine(1, Topology(1, {})), {0, 0, 0});
  expect_op(record, 0, 0, 5);
  expect_op(record, 1, 5, 12);
  expect_op(record, 2, 12, 23);
  EXPECT_DOUBLE_EQ(record.makespan_us, 23);
  EXPECT_TRUE(record.transfers.empty());
}

TEST(PhysicalEngine, ATransferTakesItsLatencyAndThenItsBytes) {
  // 100 bytes: 2 us of latency, 10 us on the link.
  const StepRecord record =
      run(test::chain_graph({5, 7, 11}, 100), make_machine(2, bus(2, link())), {0, 1, 0});
  test::expect_transfer(record, 0, 0, 1, 5, 17);
  expect_op(record, 1, 17, 24);
  test::expect_transfer(record, 1, 1, 0, 24, 36);
  expect_op(record, 2, 36, 47);
  EXPECT_DOUBLE_EQ(record.makespan_us, 47);
}

TEST(PhysicalEngine, LatenciesOfARouteAddUpAndItsNarrowestLinkRules) {
  // Two links: 2 + 3 us, then 100 bytes at 4 bytes/us.
  const Topology topology = test::star(2, link(), {.bytes_per_us = 4, .latency_us = 3});
  const StepRecord record = run(test::chain_graph({5, 5}, 100), make_machine(2, topology), {0, 1});
  test::expect_transfer(record, 0, 0, 1, 5, 5 + 5 + 25);
}

TEST(PhysicalEngine, NoBytesCostLatencyOnly) {
  const StepRecord record =
      run(test::chain_graph({5, 7}, 0), make_machine(2, bus(2, link())), {0, 1});
  test::expect_transfer(record, 0, 0, 1, 5, 7);
  EXPECT_DOUBLE_EQ(record.makespan_us, 14);
}

TEST(PhysicalEngine, LatencyUsesNoBandwidthAndNoBytesWaitForNobody) {
  // Device 0 sends 100 bytes at 5, which move from 7 to 17. The empty output, sent at 10, is there
  // at 12 although the link, fifo at that, is busy.
  const OpGraph graph = make_graph({{.name = "big", .cost_us = 5, .output_bytes = 100},
                                    {.name = "empty", .cost_us = 5},
                                    {.name = "big_reader", .producers = {0}},
                                    {.name = "empty_reader", .producers = {1}}});
  const StepRecord record =
      run(graph, make_machine(2, bus(2, link(LinkSharing::kFifo))), {0, 0, 1, 1});
  test::expect_transfer(record, 0, 0, 1, 5, 17);
  test::expect_transfer(record, 1, 1, 1, 10, 12);
}

TEST(PhysicalEngine, AForkRunsItsBranchesAtTheSameTime) {
  // a ends at 10. Branch 0 is at home until 110; the source's 100 bytes are at device 1 at 22, so
  // branch 1 ends at 122, and its own 100 bytes are back at 134 for the sink of 10 us.
  const StepRecord record =
      run(test::fork_join_graph(2, 100), make_machine(2, bus(2, link())), {0, 0, 1, 0});
  expect_op(record, 1, 10, 110);
  expect_op(record, 2, 22, 122);
  expect_op(record, 3, 134, 144);
  EXPECT_DOUBLE_EQ(record.makespan_us, 144);
}

// Two producers of 100 bytes, which end at 10 on devices of their own, and a reader of each.
OpGraph two_senders() {
  return make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100},
                     {.name = "b", .cost_us = 10, .output_bytes = 100},
                     {.name = "a_reader", .producers = {0}},
                     {.name = "b_reader", .producers = {1}}});
}

// Two producers on devices 0 and 1 send 100 bytes each to devices 2 and 3; both end at 10.
StepRecord two_transfers(const Topology& topology) {
  return run(two_senders(), make_machine(4, topology), {0, 1, 2, 3});
}

TEST(PhysicalEngine, TwoTransfersOnAFairLinkTakeTwiceAsLong) {
  const StepRecord record = two_transfers(bus(4, link()));
  test::expect_transfer(record, 0, 0, 2, 10, 12 + 20);
  test::expect_transfer(record, 1, 1, 3, 10, 12 + 20);
}

TEST(PhysicalEngine, TwoTransfersOnAFifoLinkGoOneAfterTheOther) {
  // Both arrive at 12; of one instant, the op with the lesser id comes first.
  const StepRecord record = two_transfers(bus(4, link(LinkSharing::kFifo)));
  test::expect_transfer(record, 0, 0, 2, 10, 12 + 10);
  test::expect_transfer(record, 1, 1, 3, 10, 12 + 20);
}

TEST(PhysicalEngine, TwoTransfersOnAFatpipeDoNotFeelEachOther) {
  const StepRecord record = two_transfers(bus(4, link(LinkSharing::kFatpipe)));
  test::expect_transfer(record, 0, 0, 2, 10, 12 + 10);
  test::expect_transfer(record, 1, 1, 3, 10, 12 + 10);
}

// Devices 0 and 1 send 100 bytes to each other at 10.
StepRecord exchange(const Topology& topology) {
  return run(two_senders(), make_machine(2, topology), {0, 1, 1, 0});
}

TEST(PhysicalEngine, DirectionsOfAHalfDuplexLinkShareIt) {
  const StepRecord half = exchange(bus(2, link()));
  test::expect_transfer(half, 0, 0, 1, 10, 32);
  test::expect_transfer(half, 1, 1, 0, 10, 32);
  const StepRecord full = exchange(mesh(2, link()));
  test::expect_transfer(full, 0, 0, 1, 10, 22);
  test::expect_transfer(full, 1, 1, 0, 10, 22);
}

TEST(PhysicalEngine, OneTransferServesAllConsumersOnADevice) {
  // a is read twice on device 1 and once on device 2: two transfers, on links of their own, and
  // none for the reader at home.
  const OpGraph graph = make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100},
                                    {.name = "b", .cost_us = 3, .producers = {0}},
                                    {.name = "c", .cost_us = 4, .producers = {0}},
                                    {.name = "d", .cost_us = 5, .producers = {0}},
                                    {.name = "e", .cost_us = 6, .producers = {0}}});
  const StepRecord record = run(graph, make_machine(3, mesh(3, link())), {0, 1, 1, 2, 0});
  ASSERT_EQ(record.transfers.size(), 2u);
  test::expect_transfer(record, 0, 0, 1, 10, 22);
  test::expect_transfer(record, 1, 0, 2, 10, 22);
  expect_op(record, 1, 22, 25);
  expect_op(record, 2, 25, 29);
  expect_op(record, 3, 22, 27);
  expect_op(record, 4, 10, 16);
}

TEST(PhysicalEngine, EachOutputHasATransferOfItsOwn) {
  // Outputs of 100 and 50 bytes leave together at 10 and share the link from 12 on: at 5 bytes/us
  // the 50 are through at 22; the 50 that are left of the other take until 27.
  OpGraph graph = make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100},
                              {.name = "b", .producers = {0}},
                              {.name = "c"}});
  graph[0].outputs.push_back({.bytes = 50});
  graph[0].outputs.push_back({.bytes = 70});  // read by no op
  add_dependency(graph, 0, 1, 2);
  const StepRecord record = run(std::move(graph), make_machine(2, bus(2, link())), {0, 1, 1});
  ASSERT_EQ(record.transfers.size(), 2u);
  test::expect_transfer(record, 0, 0, 1, 10, 27);
  test::expect_transfer(record, 1, 0, 1, 10, 22);
}

TEST(PhysicalEngine, AnOutputReadTwiceByAnOpIsSentOnce) {
  OpGraph graph = test::chain_graph({10, 5}, 100);
  add_dependency(graph, 0, 0, 1);
  const StepRecord record = run(std::move(graph), make_machine(2, bus(2, link())), {0, 1});
  ASSERT_EQ(record.transfers.size(), 1u);
  expect_op(record, 1, 22, 27);
}

TEST(PhysicalEngine, AControlEdgeMovesNothingAndTakesNoTime) {
  OpGraph graph = make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100}, {.name = "b"}});
  add_dependency(graph, 0, Dependency::kControl, 1);
  const StepRecord record = run(std::move(graph), make_machine(2, bus(2, link())), {0, 1});
  EXPECT_TRUE(record.transfers.empty());
  expect_op(record, 1, 10, 11);
}

TEST(PhysicalEngine, AnOpThatIsReadAndWaitedForWaitsForItsData) {
  OpGraph graph = test::chain_graph({10, 5}, 100);
  add_dependency(graph, 0, Dependency::kControl, 1);
  const StepRecord record = run(std::move(graph), make_machine(2, bus(2, link())), {0, 1});
  expect_op(record, 1, 22, 27);
}

TEST(PhysicalEngine, OpsThatCostNothingPassInNoTime) {
  const StepRecord record =
      run(test::chain_graph({0, 0, 5, 0}, 0), make_machine(1, Topology(1, {})), {0, 0, 0, 0});
  expect_op(record, 1, 0, 0);
  expect_op(record, 2, 0, 5);
  expect_op(record, 3, 5, 5);
  EXPECT_DOUBLE_EQ(record.makespan_us, 5);
}

TEST(PhysicalEngine, AnEmptyStepTakesNoTime) {
  const StepRecord record = run(test::chain_graph({0}, 0), make_machine(1, Topology(1, {})), {0});
  EXPECT_EQ(record.makespan_us, 0);
}

TEST(PhysicalEngine, ADeviceRunsAsManyOpsAtATimeAsItHasSlots) {
  // Five ops of 10 us in two slots: three rounds.
  const StepRecord record =
      run(independent_ops(5, 10), make_machine(1, Topology(1, {}), {.slots = 2}), {0, 0, 0, 0, 0});
  expect_op(record, 0, 0, 10);
  expect_op(record, 1, 0, 10);
  expect_op(record, 2, 10, 20);
  expect_op(record, 3, 10, 20);
  expect_op(record, 4, 20, 30);
}

TEST(PhysicalEngine, ALaunchKeepsASlotBeforeEachOp) {
  // Three ops of 10 us, launched in 3 us each.
  const StepRecord record =
      run(independent_ops(3, 10), make_machine(1, Topology(1, {}), {.launch_us = 3}), {0, 0, 0});
  expect_op(record, 0, 0, 13);
  expect_op(record, 1, 13, 26);
  EXPECT_DOUBLE_EQ(record.makespan_us, 39);
}

TEST(PhysicalEngine, AnOpThatLaunchesNothingHasNoLaunch) {
  OpGraph graph = test::chain_graph({10, 0, 10}, 0);
  graph[1].kind = "no_op";
  const StepRecord record =
      run(std::move(graph), make_machine(1, Topology(1, {}), {.launch_us = 3}), {0, 0, 0});
  expect_op(record, 1, 13, 13);
  EXPECT_DOUBLE_EQ(record.makespan_us, 26);
}

TEST(PhysicalEngine, AnOpWaitsForItsLaunchByTheHost) {
  // The host launches an op each 4 us, and goes on while they run.
  const auto launching = [](double us, std::int32_t threads, DeviceId devices = 1) {
    return make_machine(devices, mesh(devices, link()),
                        {.host = {.launch_us = us, .threads = threads}});
  };
  const StepRecord fast = run(independent_ops(3, 1), launching(4, 1), {0, 0, 0});
  expect_op(fast, 0, 4, 5);
  expect_op(fast, 1, 8, 9);
  expect_op(fast, 2, 12, 13);
  const StepRecord slow = run(independent_ops(3, 10), launching(4, 1), {0, 0, 0});
  expect_op(slow, 0, 4, 14);
  expect_op(slow, 1, 14, 24);
  expect_op(slow, 2, 24, 34);
  // One thread launches for both devices, or each of two for its own.
  const StepRecord shared = run(independent_ops(4, 1), launching(4, 1, 2), {0, 1, 0, 1});
  expect_op(shared, 3, 16, 17);
  const StepRecord apart = run(independent_ops(4, 1), launching(4, 2, 2), {0, 1, 0, 1});
  expect_op(apart, 1, 4, 5);
  expect_op(apart, 3, 8, 9);
}

TEST(PhysicalEngine, TheHostLaunchesNothingForCpusAndNoOpsWithoutKernels) {
  Cluster cluster = *make_machine(1, Topology(1, {}), {.host = {.launch_us = 4}});
  OpGraph graph = test::chain_graph({10, 0, 10}, 0);
  graph[1].kind = "no_op";
  const StepRecord on_gpu = run(graph, std::make_shared<Cluster>(cluster), {0, 0, 0});
  expect_op(on_gpu, 0, 4, 14);
  expect_op(on_gpu, 1, 14, 14);
  expect_op(on_gpu, 2, 14, 24);
  cluster.profiles[0].device_class = "cpu-test";
  for (OpId op = 0; op < 3; ++op) {
    for (MeasuredCost& cost : graph[index_of(op)].measured) {
      cost.device_class = "cpu-test";
    }
  }
  expect_op(run(graph, std::make_shared<Cluster>(cluster), {0, 0, 0}), 0, 0, 10);
}

// A long chain (head, tail) and a short op, ready together on one device; the short one first.
OpGraph short_and_long() {
  return make_graph({{.name = "short", .cost_us = 10},
                     {.name = "head", .cost_us = 10},
                     {.name = "tail", .cost_us = 50, .producers = {1}}});
}

TEST(PhysicalEngine, DevicesRunWhatWasReadyFirst) {
  // Of one instant, the lesser id: short 0 to 10, head 10 to 20, tail on device 1 20 to 70.
  const StepRecord record =
      run(short_and_long(), make_machine(2, bus(2, {.bytes_per_us = kBytesPerUs})), {0, 0, 1});
  expect_op(record, 0, 0, 10);
  EXPECT_DOUBLE_EQ(record.makespan_us, 70);
}

TEST(PhysicalEngine, OrRunTheCriticalPathFirst) {
  // From head to the end there are 60 us of ops, from short 10: head first, tail 10 to 60.
  const StepRecord record = run(short_and_long(),
                                make_machine(2, bus(2, {.bytes_per_us = kBytesPerUs}),
                                             {.queue_order = QueueOrder::kCriticalPath}),
                                {0, 0, 1});
  expect_op(record, 1, 0, 10);
  expect_op(record, 0, 10, 20);
  EXPECT_DOUBLE_EQ(record.makespan_us, 60);
}

TEST(PhysicalEngine, TiesGoByIdAmongAllThatBecomesReadyAtOneInstant) {
  // At 10, three things happen: gate (id 3) ends on device 0, a's transfer arrives there, and b's
  // too. All three consumers are ready at once, so they run by id, whatever woke them first.
  const OpGraph graph = make_graph({{.name = "a", .cost_us = 0, .output_bytes = 100},
                                    {.name = "b", .cost_us = 0, .output_bytes = 100},
                                    {.name = "reader_of_b", .cost_us = 1, .producers = {1}},
                                    {.name = "gate", .cost_us = 10},
                                    {.name = "reader_of_gate", .cost_us = 1, .producers = {3}},
                                    {.name = "reader_of_a", .cost_us = 1, .producers = {0}}});
  const StepRecord record =
      run(graph, make_machine(3, mesh(3, {.bytes_per_us = kBytesPerUs})), {1, 2, 0, 0, 0, 0});
  expect_op(record, 2, 10, 11);
  expect_op(record, 4, 11, 12);
  expect_op(record, 5, 12, 13);
}

TEST(PhysicalEngine, SumsThatDifferByRoundingAreOneInstant) {
  // 0.1 + 0.2 is a bit more than 0.3, but its reader has the lesser id, so it runs first.
  OpGraph graph = make_graph({{.name = "first_part", .cost_us = 0.1},
                              {.name = "second_part", .cost_us = 0.2, .producers = {0}},
                              {.name = "whole", .cost_us = 0.3},
                              {.name = "reader_of_parts", .cost_us = 1, .producers = {1}},
                              {.name = "reader_of_whole", .cost_us = 1, .producers = {2}}});
  const StepRecord record = run(
      std::move(graph), make_machine(3, mesh(3, {.bytes_per_us = kBytesPerUs})), {0, 0, 1, 2, 2});
  EXPECT_GT(record.end_us[1], record.end_us[2]);
  expect_op(record, 3, 0.1 + 0.2, 0.1 + 0.2 + 1);
  expect_op(record, 4, 0.1 + 0.2 + 1, 0.1 + 0.2 + 2);
}

TEST(PhysicalEngine, AThousandTiesAreAsExactAsOne) {
  // 1000 branches of 100 us on 10 devices, whose inputs of no bytes all come at 10 + 2 us, and
  // whose outputs all come back at one instant in each round of 100 us.
  std::vector<DeviceId> placement(1002, 0);
  for (std::size_t branch = 0; branch < 1000; ++branch) {
    placement[branch + 1] = static_cast<DeviceId>(1 + branch % 10);
  }
  const StepRecord record =
      run(test::fork_join_graph(1000, 0), make_machine(11, mesh(11, link())), placement);
  for (std::size_t branch = 0; branch < 1000; ++branch) {
    const double start_us = 12 + 100 * static_cast<double>(branch / 10);
    expect_op(record, branch + 1, start_us, start_us + 100);
  }
  EXPECT_DOUBLE_EQ(record.makespan_us, 12 + 100 * 100 + 2 + 10);
}

TEST(PhysicalEngine, APairOfDevicesWithoutARouteIsOurMistake) {
  Topology one_way(2, {{.name = "cable", .bytes_per_us = 1}});
  one_way.set_route(0, 1, {0});
  EXPECT_THROW(test::make_problem(test::chain_graph({1}, 0), make_machine(2, one_way)),
               InternalError);
  EXPECT_THROW(test::make_problem(test::chain_graph({1}, 0), make_machine(3, one_way)),
               InternalError);
}

}  // namespace
}  // namespace emplace::physical_engine_test

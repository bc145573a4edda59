#include "support/machines.hpp"
#include "support/problems.hpp"

#include <emplace/base/random.hpp>
#include <emplace/sim/explanation.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <utility>
#include <vector>

namespace emplace {

// What the tests below say of a segment; the rest follows from it.
struct Piece {
  PathKind kind;
  double from_us;
  double to_us;
  OpId op;
  bool is_queued = false;
};

bool operator==(const PathSegment& segment, const Piece& piece) {
  return segment.kind == piece.kind && std::abs(segment.from_us - piece.from_us) < 1e-9 &&
         std::abs(segment.to_us - piece.to_us) < 1e-9 && segment.op == piece.op &&
         segment.is_queued == piece.is_queued;
}

void PrintTo(const PathSegment& segment, std::ostream* out) {
  *out << to_string(segment.kind) << " [" << segment.from_us << ", " << segment.to_us << ") op "
       << segment.op << (segment.is_queued ? " queued" : "");
}

void PrintTo(const Piece& piece, std::ostream* out) {
  *out << to_string(piece.kind) << " [" << piece.from_us << ", " << piece.to_us << ") op "
       << piece.op << (piece.is_queued ? " queued" : "");
}

namespace {

using testing::ElementsAre;

constexpr auto kCompute = PathKind::kCompute;
constexpr auto kLaunch = PathKind::kLaunch;
constexpr auto kGap = PathKind::kGap;
constexpr auto kLatency = PathKind::kLatency;
constexpr auto kTransfer = PathKind::kTransfer;
constexpr auto kLinkWait = PathKind::kLinkWait;

StepRecord run(const Problem& problem, std::vector<DeviceId> devices) {
  return Simulator(problem).record(Placement(std::move(devices)));
}

// An op of 10 us that sends 100 bytes to each of two ops of 7 us on other devices.
OpGraph one_to_two() {
  return test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100},
                           {.name = "b", .cost_us = 7, .producers = {0}},
                           {.name = "c", .cost_us = 7, .producers = {0}}});
}

TEST(CriticalPath, LeadsThroughOpsAndTransfers) {
  // The diamond with c on the other device, 10 bytes at 1 byte/us: b is through at 300, but
  // a(100) + 10 + c(200) + 10 + d(50) = 370.
  const Problem problem = test::make_problem(test::diamond_graph(10), {.num_devices = 2});
  const std::vector<PathSegment> path = critical_path(problem, run(problem, {0, 0, 1, 0}));
  EXPECT_THAT(path, ElementsAre(Piece{kCompute, 0, 100, 0}, Piece{kTransfer, 100, 110, 0},
                                Piece{kCompute, 110, 310, 2}, Piece{kTransfer, 310, 320, 2},
                                Piece{kCompute, 320, 370, 3}));
  EXPECT_EQ(path[2].device, 1);
  EXPECT_EQ(path[2].link, PathSegment::kNone);
  EXPECT_EQ(path[3].device, PathSegment::kNone);
  EXPECT_EQ(path[3].link, 1);  // the channel of gpu:1
}

TEST(CriticalPath, LeadsThroughTheOpThatOccupiedTheDevice) {
  // Both are ready at 0; b runs second, after a's 10 us and a rest of 5.
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10}, {.name = "b", .cost_us = 20}}),
      {.num_devices = 1, .gap_after_op_us = 5});
  EXPECT_THAT(critical_path(problem, run(problem, {0, 0})),
              ElementsAre(Piece{kCompute, 0, 10, 0, true}, Piece{kGap, 10, 15, 0, true},
                          Piece{kCompute, 15, 35, 1}, Piece{kGap, 35, 40, 1}));
}

TEST(CriticalPath, LeadsThroughThePlacetoChannel) {
  // gpu:0 runs a until 10, rests 5, runs b until 25. Its channel sends a's 100 bytes from 10 to
  // 110, rests 25, sends b's, wanted since 25, from 135 to 235, and its rest ends the step at 260:
  // d on gpu:1 is through at 250.
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100},
                                           {.name = "b", .cost_us = 10, .output_bytes = 100},
                                           {.name = "c", .cost_us = 10, .producers = {0}},
                                           {.name = "d", .cost_us = 10, .producers = {1}}}),
                         {.num_devices = 2, .gap_after_op_us = 5, .gap_after_transfer_us = 25});
  EXPECT_THAT(critical_path(problem, run(problem, {0, 0, 1, 1})),
              ElementsAre(Piece{kCompute, 0, 10, 0}, Piece{kTransfer, 10, 25, 0},
                          Piece{kTransfer, 25, 110, 0, true}, Piece{kGap, 110, 135, 0, true},
                          Piece{kTransfer, 135, 235, 1}, Piece{kGap, 235, 260, 1}));
}

TEST(CriticalPath, TellsLatencyAndBytesFromSharing) {
  // Two transfers of 100 bytes share 10 bytes/us: after 5 us of latency each takes 20 us, not 10.
  const Problem problem = test::make_problem(
      one_to_two(), test::make_machine(3, test::bus(3, {.bytes_per_us = 10, .latency_us = 5})));
  EXPECT_THAT(critical_path(problem, run(problem, {0, 1, 2})),
              ElementsAre(Piece{kCompute, 0, 10, 0}, Piece{kLatency, 10, 15, 0},
                          Piece{kLinkWait, 15, 25, 0}, Piece{kTransfer, 25, 35, 0},
                          Piece{kCompute, 35, 42, 1}));
}

TEST(CriticalPath, SharingIsToldOfTheLinkThatIsShared) {
  // Alone a transfer would move at the 10 bytes/us of its own slow links; the 12 of the trunk give
  // each of the two 6: 100 / 6 = 16.67 us instead of 10.
  Topology topology(3, {{.name = "first", .bytes_per_us = 10},
                        {.name = "second", .bytes_per_us = 10},
                        {.name = "trunk", .bytes_per_us = 12}});
  topology.set_route(0, 1, {0, 2});
  topology.set_route(0, 2, {1, 2});
  test::route_the_rest(topology, 3);
  const Problem problem =
      test::make_problem(one_to_two(), test::make_machine(3, std::move(topology)));
  const std::vector<PathSegment> path = critical_path(problem, run(problem, {0, 1, 2}));
  ASSERT_EQ(path.size(), 4U);
  EXPECT_EQ(path[1].kind, kLinkWait);
  EXPECT_NEAR(path[1].to_us - path[1].from_us, 100.0 / 6 - 10, 1e-9);
  EXPECT_EQ(path[1].link, 2);
  EXPECT_EQ(path[2].link, 0);
}

TEST(CriticalPath, LeadsThroughTheTransferThatOccupiedAFifoLink) {
  // The transfer to device 2 waits from 15 to 25 for that to device 1.
  const Link copy_engine{.bytes_per_us = 10, .latency_us = 5, .sharing = LinkSharing::kFifo};
  const Problem problem =
      test::make_problem(one_to_two(), test::make_machine(3, test::bus(3, copy_engine)));
  EXPECT_THAT(critical_path(problem, run(problem, {0, 1, 2})),
              ElementsAre(Piece{kCompute, 0, 10, 0}, Piece{kLatency, 10, 15, 0},
                          Piece{kTransfer, 15, 25, 0, true}, Piece{kTransfer, 25, 35, 0},
                          Piece{kCompute, 35, 42, 2}));
}

TEST(CriticalPath, LeadsThroughTheGrapplerChannelWithItsLatencies) {
  // a's 100 bytes occupy the channel from 10 for 5 + 10 us, b's, wanted since 12, from 25 to 40.
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 100},
                                           {.name = "b", .cost_us = 2, .output_bytes = 100},
                                           {.name = "c", .cost_us = 7, .producers = {0}},
                                           {.name = "d", .cost_us = 7, .producers = {1}}}),
                         test::make_grappler(2, {.latency_us = 5, .bytes_per_us = 10}));
  EXPECT_THAT(critical_path(problem, run(problem, {0, 0, 1, 1})),
              ElementsAre(Piece{kCompute, 0, 10, 0}, Piece{kLatency, 10, 12, 0},
                          Piece{kLatency, 12, 15, 0, true}, Piece{kTransfer, 15, 25, 0, true},
                          Piece{kLatency, 25, 30, 1}, Piece{kTransfer, 30, 40, 1},
                          Piece{kCompute, 40, 47, 3}));
}

TEST(CriticalPath, TellsLaunchesApart) {
  const Problem problem = test::make_problem(
      test::chain_graph({10, 20}, 0), test::make_machine(1, Topology(1, {}), {.launch_us = 3}));
  EXPECT_THAT(critical_path(problem, run(problem, {0, 0})),
              ElementsAre(Piece{kLaunch, 0, 3, 0}, Piece{kCompute, 3, 13, 0},
                          Piece{kLaunch, 13, 16, 1}, Piece{kCompute, 16, 36, 1}));
}

TEST(CriticalPath, BeginsWithTheHostThatLaunches) {
  // b could start at 10, but is launched at 14 only, as the second op of 7 us.
  const Problem problem =
      test::make_problem(test::chain_graph({2, 20}, 0),
                         test::make_machine(1, Topology(1, {}), {.host = {.launch_us = 7}}));
  EXPECT_THAT(critical_path(problem, run(problem, {0, 0})),
              ElementsAre(Piece{PathKind::kHost, 0, 14, 1}, Piece{kCompute, 14, 34, 1}));
  // Where ops take longer than launches, only the first launch is on the path.
  const Problem busy =
      test::make_problem(test::chain_graph({30, 20}, 0),
                         test::make_machine(1, Topology(1, {}), {.host = {.launch_us = 7}}));
  EXPECT_THAT(critical_path(busy, run(busy, {0, 0})),
              ElementsAre(Piece{PathKind::kHost, 0, 7, 0}, Piece{kCompute, 7, 37, 0},
                          Piece{kCompute, 37, 57, 1}));
}

TEST(CriticalPath, WaitsForTheSlotThatBecomesFree) {
  // Two slots: c, ready at 0, starts when a, not b, is through.
  const Problem problem = test::make_problem(test::make_graph({{.name = "a", .cost_us = 10},
                                                               {.name = "b", .cost_us = 15},
                                                               {.name = "c", .cost_us = 20}}),
                                             test::make_machine(1, Topology(1, {}), {.slots = 2}));
  EXPECT_THAT(critical_path(problem, run(problem, {0, 0, 0})),
              ElementsAre(Piece{kCompute, 0, 10, 0, true}, Piece{kCompute, 10, 30, 2}));
}

TEST(CriticalPath, OpsThatTakeNoTimeAreOnItButDoNotShow) {
  const Problem problem = test::make_problem(test::chain_graph({10, 0, 0, 5}, 0));
  EXPECT_THAT(critical_path(problem, run(problem, {0, 0, 0, 0})),
              ElementsAre(Piece{kCompute, 0, 10, 0}, Piece{kCompute, 10, 15, 3}));
  const Problem nothing = test::make_problem(test::chain_graph({0, 0}, 0));
  EXPECT_THAT(critical_path(nothing, run(nothing, {0, 0})), ElementsAre());
}

TEST(CriticalPath, AnOpThatTakesNoTimeOccupiesNothing) {
  // gpu:1 ends half a picosecond after a, which is one instant: then nothing starts and ends, and b
  // starts. What it waited for is a.
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .cost_us = 10},
                                           {.name = "nothing", .cost_us = 0},
                                           {.name = "b", .cost_us = 5},
                                           {.name = "elsewhere", .cost_us = 10 + 5e-7}}),
                         test::make_machine(2, test::bus(2, {.bytes_per_us = 1})));
  EXPECT_THAT(critical_path(problem, run(problem, {0, 0, 0, 1})),
              ElementsAre(Piece{kCompute, 0, 10 + 5e-7, 0, true},
                          Piece{kCompute, 10 + 5e-7, 15 + 5e-7, 2}));
}

// A random step on a random cluster, which is replaced by one of another model in two of three.
Problem random_problem(int round, const test::RandomStep& step) {
  const auto num_devices = static_cast<DeviceId>(step.cluster->devices.size());
  switch (round % 3) {
    case 0:
      return test::make_problem(step.graph, step.cluster);
    case 1:
      return test::make_problem(step.graph, test::make_grappler(num_devices, {2, 5}));
    default:
      return test::make_problem(step.graph, test::make_cluster({.num_devices = num_devices,
                                                                .bytes_per_us = 5,
                                                                .gap_after_op_us = 1,
                                                                .gap_after_transfer_us = 2}));
  }
}

TEST(CriticalPath, CoversTheStepWithoutAGapAndOnlyWithWhatHappened) {
  RandomStream random(7);
  const auto below = [&](std::uint64_t bound) { return random.below(bound); };
  for (int round = 0; round < 3000; ++round) {
    const test::RandomStep step = test::draw_step(
        below, round % 2 == 0 ? test::Coincidences::kMany : test::Coincidences::kNone, 40);
    const Problem problem = random_problem(round, step);
    const StepRecord record = Simulator(problem).record(step.placement);
    SCOPED_TRACE(round);
    double cursor_us = 0;
    for (const PathSegment& segment : critical_path(problem, record)) {
      ASSERT_EQ(segment.from_us, cursor_us);
      ASSERT_LT(segment.from_us, segment.to_us);
      cursor_us = segment.to_us;
      const OpId op = segment.op;
      double from_us = record.start_us[op];
      double to_us = record.end_us[op] + problem.gap_us(segment.op);
      if (segment.link != PathSegment::kNone) {
        const Transfer& transfer = record.transfers[segment.transfer];
        from_us = transfer.start_us;
        to_us = transfer.end_us + problem.cluster().placeto.gap_after_transfer_us;
      }
      const double rounding_us = 1e-5 + 1e-9 * record.makespan_us;
      ASSERT_GE(segment.from_us, from_us - rounding_us);
      ASSERT_LE(segment.to_us, to_us + rounding_us);
    }
    ASSERT_EQ(cursor_us, record.makespan_us);
  }
}

}  // namespace
}  // namespace emplace

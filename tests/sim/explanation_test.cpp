#include "support/machines.hpp"
#include "support/problems.hpp"

#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/explanation.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace emplace::explanation_test {
namespace {

using testing::ElementsAre;

StepRecord run(const Problem& problem, std::vector<DeviceId> devices) {
  return Simulator(problem).record(Placement(std::move(devices)));
}

Explanation explain_run(const Problem& problem, std::vector<DeviceId> devices) {
  return explain(problem, run(problem, std::move(devices)));
}

double path_us(const Explanation& explanation, PathKind kind) {
  return explanation.path_kinds[static_cast<std::size_t>(kind)].path_us;
}

TEST(Explanation, AddsUpThePathAndWhatDevicesAndLinksDid) {
  // The diamond above. b runs until 300; from 310 to 320 only the transfer to d is under way.
  const Problem problem = test::make_problem(test::diamond_graph(10), {.num_devices = 2});
  const Explanation explanation = explain_run(problem, {0, 0, 1, 0});
  EXPECT_EQ(explanation.makespan_us, 370);
  EXPECT_EQ(path_us(explanation, PathKind::kCompute), 350);
  EXPECT_EQ(path_us(explanation, PathKind::kTransfer), 20);
  EXPECT_EQ(explanation.devices[0].path_us, 150);
  EXPECT_EQ(explanation.devices[1].path_us, 200);
  EXPECT_EQ(explanation.devices[0].busy_us, 350);
  EXPECT_DOUBLE_EQ(explanation.devices[0].utilization, 350.0 / 370);
  EXPECT_EQ(explanation.devices[0].transfer_wait_us, 10);
  EXPECT_EQ(explanation.devices[1].transfer_wait_us, 10);
  EXPECT_EQ(explanation.devices[1].ops, 1);
  ASSERT_EQ(explanation.links.size(), 2U);
  EXPECT_EQ(explanation.links[0].name, "channel of gpu:0");
  EXPECT_EQ(explanation.links[0].bytes, 10);
  EXPECT_EQ(explanation.links[0].path_us, 10);
  EXPECT_DOUBLE_EQ(explanation.links[0].utilization, 10.0 / 370);
  EXPECT_EQ(explanation.exposed_us, 10);
  ASSERT_EQ(explanation.op_kinds.size(), 1U);
  EXPECT_EQ(explanation.op_kinds[0].path_us, 350);
  EXPECT_EQ(explanation.op_kinds[0].ops, 3);
  EXPECT_FALSE(explanation.overflow);
}

TEST(Explanation, UtilisationCountsSlots) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10}, {.name = "b", .cost_us = 20}}),
      test::make_machine(1, Topology(1, {}), {.slots = 2}));
  const Explanation explanation = explain_run(problem, {0, 0});
  EXPECT_EQ(explanation.devices[0].most_at_once, 2);
  EXPECT_DOUBLE_EQ(explanation.devices[0].utilization, 30.0 / (2 * 20));
}

// Three tensors of 100 bytes move at once; then their consumers take 1 us each.
TEST(Explanation, AFatpipeLinkIsInUseWhileAnythingMoves) {
  const OpGraph graph = test::make_graph({{.name = "a", .cost_us = 0, .output_bytes = 100},
                                          {.name = "b", .cost_us = 0, .output_bytes = 100},
                                          {.name = "c", .cost_us = 0, .output_bytes = 100},
                                          {.name = "d", .cost_us = 1, .producers = {0}},
                                          {.name = "e", .cost_us = 1, .producers = {1}},
                                          {.name = "f", .cost_us = 1, .producers = {2}}});
  const Problem problem = test::make_problem(
      graph,
      test::make_machine(
          2, test::bus(2, {.name = "l", .bytes_per_us = 1, .sharing = LinkSharing::kFatpipe})));
  const Explanation explanation = explain_run(problem, {0, 0, 0, 1, 1, 1});
  EXPECT_EQ(explanation.makespan_us, 103);
  EXPECT_DOUBLE_EQ(explanation.links[0].utilization, 100.0 / 103);
}

// From 10 us on p sends 1000 bytes over both links. Until 110 us it shares the first with q's 500,
// then until 210 us the second with s's 500. Alone it would have taken 100 us: it waits for 100 us,
// and either link may be to blame.
TEST(Explanation, AWaitCountsForEachLinkThatWasShared) {
  Topology topology(
      3, {{.name = "first", .bytes_per_us = 10}, {.name = "second", .bytes_per_us = 10}});
  topology.set_route(0, 1, {0, 1});
  topology.set_route(0, 2, {0});
  topology.set_route(2, 1, {1});
  test::route_the_rest(topology, 3);
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "p", .cost_us = 10, .output_bytes = 1000},
                                           {.name = "q", .cost_us = 10, .output_bytes = 500},
                                           {.name = "r", .cost_us = 1, .producers = {1}},
                                           {.name = "s", .cost_us = 110, .output_bytes = 500},
                                           {.name = "t", .cost_us = 1, .producers = {3}},
                                           {.name = "u", .cost_us = 40, .producers = {0}}}),
                         test::make_machine(3, std::move(topology), {.slots = 2}));
  const Explanation explanation = explain_run(problem, {0, 0, 2, 2, 1, 1});
  EXPECT_DOUBLE_EQ(explanation.makespan_us, 250);
  std::vector<double> gains_us;
  for (const Gain& gain : explanation.gains) {
    if (gain.what == Gain::What::kLink) {
      gains_us.push_back(gain.at_most_us);
    }
  }
  EXPECT_THAT(gains_us,
              ElementsAre(testing::DoubleNear(100, 1e-6), testing::DoubleNear(100, 1e-6)));
}

TEST(Explanation, GainsAreTheTimesOnThePathLargestFirst) {
  const Problem problem = test::make_problem(test::diamond_graph(10), {.num_devices = 2});
  const std::vector<Gain> gains = explain_run(problem, {0, 0, 1, 0}).gains;
  const auto is = [](Gain::What what, std::int32_t index, double us) {
    return testing::AllOf(testing::Field(&Gain::what, what), testing::Field(&Gain::index, index),
                          testing::Field(&Gain::at_most_us, us));
  };
  EXPECT_THAT(gains, ElementsAre(is(Gain::What::kDevice, 1, 200), is(Gain::What::kDevice, 0, 150),
                                 is(Gain::What::kAllLinks, 0, 20), is(Gain::What::kLink, 0, 10),
                                 is(Gain::What::kLink, 1, 10)));
}

TEST(Explanation, AnInfinitelyFastLinkLeavesTheNextSlowest) {
  // 100 bytes over 10 and 40 bytes/us with 1 and 3 us of latency: 4 + 10 us. Without the first
  // link it would be 3 + 2.5, without the second 1 + 10.
  Topology topology(2, {{.name = "slow", .bytes_per_us = 10, .latency_us = 1},
                        {.name = "fast", .bytes_per_us = 40, .latency_us = 3}});
  topology.set_route(0, 1, {0, 1});
  test::route_the_rest(topology, 2);
  const Problem problem = test::make_problem(test::chain_graph({10, 10}, 100),
                                             test::make_machine(2, std::move(topology)));
  const Explanation explanation = explain_run(problem, {0, 1});
  EXPECT_EQ(explanation.links[0].path_us, 14);
  double slow_us = 0;
  double fast_us = 0;
  for (const Gain& gain : explanation.gains) {
    if (gain.what == Gain::What::kLink) {
      (gain.index == 0 ? slow_us : fast_us) = gain.at_most_us;
    }
  }
  EXPECT_DOUBLE_EQ(slow_us, 14 - 5.5);
  EXPECT_DOUBLE_EQ(fast_us, 14 - 11);
}

TEST(Explanation, TellsWhatOverflowedAMemory) {
  // a's 60 bytes are alive when b takes 60 more of 100.
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 60},
                        {.name = "b", .cost_us = 10, .output_bytes = 60, .producers = {0}}}),
      {.num_devices = 2, .memory_bytes = 100});
  const Explanation explanation = explain_run(problem, {1, 1});
  ASSERT_TRUE(explanation.overflow);
  EXPECT_EQ(explanation.overflow->device, 1);
  EXPECT_EQ(explanation.overflow->at_us, 10);
  EXPECT_EQ(explanation.overflow->bytes_over, 20);
}

// --- The trace ----------------------------------------------------------------------------------

TEST(ChromeTrace, HasARowForTheCriticalPath) {
  const Problem problem = test::make_problem(test::diamond_graph(10), {.num_devices = 2});
  const auto trace = nlohmann::json::parse(write_chrome_trace(problem, run(problem, {0, 0, 1, 0})));
  std::vector<std::string> names;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "b" && event["cat"] == "critical-path") {
      names.push_back(event["name"]);
      EXPECT_EQ(event["pid"], 3);  // behind the devices
    }
  }
  EXPECT_THAT(names,
              ElementsAre("compute a", "transfer a", "compute c", "transfer c", "compute d"));
}

}  // namespace
}  // namespace emplace::explanation_test

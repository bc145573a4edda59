// The hand-checked cases of the `placeto` engine: small graphs whose times follow from the rules in
// docs/concepts/simulation.md by mental arithmetic. A device rests 5.7 us after an op, a channel 25
// us after a transfer and moves 7600 bytes/us, so 7600 bytes take 1 us, 76,000 take 10 us and
// 760,000 take 100 us. The makespan is the last event of any kind: it includes these rests.

#include <emplace/bench/case_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::placeto_engine_test {
namespace {

using bench::read_case;
using bench::SimulationCase;
using ::testing::ElementsAre;

constexpr double kToleranceUs = 1e-9;

struct Times {
  double makespan_us;
  std::vector<std::pair<double, double>> ops;
  std::vector<std::int64_t> peak_bytes;
};

Times simulate(int devices, const std::string& nodes, const std::string& edges,
               const std::string& placement) {
  const SimulationCase simulation_case =
      read_case(R"({"name":"hand-checked","devices":)" + std::to_string(devices) + R"(,"nodes":[)" +
                    nodes + R"(],"edges":[)" + edges + R"(],"placements":[[)" + placement + "]]}",
                "hand-checked");
  Simulator simulator(simulation_case.problem);
  const SimResult& result = simulator.run(simulation_case.placements[0]);
  Times times{result.makespan_us, {}, {result.peak_bytes.begin(), result.peak_bytes.end()}};
  for (std::size_t op = 0; op < result.start_us.size(); ++op) {
    times.ops.emplace_back(result.start_us[op], result.end_us[op]);
  }
  return times;
}

void expect_ops(const Times& times, const std::vector<std::pair<double, double>>& expected) {
  ASSERT_EQ(times.ops.size(), expected.size());
  for (std::size_t op = 0; op < expected.size(); ++op) {
    EXPECT_NEAR(times.ops[op].first, expected[op].first, kToleranceUs) << "start of op " << op;
    EXPECT_NEAR(times.ops[op].second, expected[op].second, kToleranceUs) << "end of op " << op;
  }
}

void expect_step(const Times& times, const std::vector<std::pair<double, double>>& ops,
                 double makespan_us) {
  expect_ops(times, ops);
  EXPECT_NEAR(times.makespan_us, makespan_us, kToleranceUs);
}

// a(100) -> b(200) -> c(300)
const char* const kChain = R"({"id":0,"cost_us":100,"outputs":[7600]},
                              {"id":1,"cost_us":200,"outputs":[76000]},
                              {"id":2,"cost_us":300,"outputs":[760]})";
const char* const kChainEdges = "[0,0,1],[1,0,2]";

TEST(PlacetoEngine, ChainOnOneDeviceRestsAfterEachOp) {
  expect_step(simulate(2, kChain, kChainEdges, "0,0,0"), {{0, 100}, {105.7, 305.7}, {311.4, 611.4}},
              617.1);
}

TEST(PlacetoEngine, ChainAcrossDevicesWaitsForTheTransferInsteadOfTheRest) {
  expect_step(simulate(2, kChain, kChainEdges, "0,1,1"), {{0, 100}, {101, 301}, {306.7, 606.7}},
              612.4);
}

TEST(PlacetoEngine, ChainThereAndBack) {
  expect_step(simulate(2, kChain, kChainEdges, "0,1,0"), {{0, 100}, {101, 301}, {311, 611}}, 616.7);
}

// a(100) -> b(200), c(200 or 100) -> d(50); a sends 760,000 bytes, b and c 76,000.
std::string diamond() {
  return R"({"id":0,"cost_us":100,"outputs":[760000]},
            {"id":1,"cost_us":200,"outputs":[76000]},
            {"id":2,"cost_us":200,"outputs":[76000]},
            {"id":3,"cost_us":50,"outputs":[8]})";
}
const char* const kDiamondEdges = "[0,0,1],[0,0,2],[1,0,3],[2,0,3]";

TEST(PlacetoEngine, DiamondOnOneDevice) {
  expect_step(simulate(2, diamond(), kDiamondEdges, "0,0,0,0"),
              {{0, 100}, {105.7, 305.7}, {311.4, 511.4}, {517.1, 567.1}}, 572.8);
}

TEST(PlacetoEngine, DiamondWithOneBranchElsewhere) {
  // c waits 100 us for a's tensor; d for c's 10 us.
  expect_step(simulate(2, diamond(), kDiamondEdges, "0,0,1,0"),
              {{0, 100}, {105.7, 305.7}, {200, 400}, {410, 460}}, 465.7);
}

TEST(PlacetoEngine, DiamondWithAllButTheFirstElsewhere) {
  expect_step(simulate(2, diamond(), kDiamondEdges, "0,1,1,1"),
              {{0, 100}, {200, 400}, {405.7, 605.7}, {611.4, 661.4}}, 667.1);
}

TEST(PlacetoEngine, OneTransferServesConsumersOnSeveralDevices) {
  expect_step(simulate(3, diamond(), kDiamondEdges, "0,1,2,1"),
              {{0, 100}, {200, 400}, {200, 400}, {410, 460}}, 465.7);
}

TEST(PlacetoEngine, OutputsOfOneOpQueueBehindEachOther) {
  // The second transfer starts 25 us after the first: 200 + 25, and takes 100.
  expect_step(simulate(3,
                       R"({"id":0,"cost_us":100,"outputs":[760000,760000]},
                                  {"id":1,"cost_us":10,"outputs":[8]},
                                  {"id":2,"cost_us":10,"outputs":[8]})",
                       "[0,0,1],[0,1,2]", "0,1,2"),
              {{0, 100}, {200, 210}, {325, 335}}, 350);
}

TEST(PlacetoEngine, ReceivingIsNeverALimit) {
  const Times times = simulate(3,
                               R"({"id":0,"cost_us":100,"outputs":[760000]},
                                  {"id":1,"cost_us":100,"outputs":[760000]},
                                  {"id":2,"cost_us":10,"outputs":[8]})",
                               "[0,0,2],[1,0,2]", "0,1,2");
  EXPECT_NEAR(times.ops[2].first, 200, kToleranceUs);
  EXPECT_NEAR(times.makespan_us, 225, kToleranceUs);  // the channels' last rest
}

TEST(PlacetoEngine, AnIntegerZeroCostSkipsTheRestButAFloatZeroDoesNot) {
  const std::string second = R"({"id":1,"cost_us":10,"outputs":[0]})";
  const Times integer =
      simulate(1, R"({"id":0,"cost_us":0,"outputs":[0]},)" + second, "[0,0,1]", "0,0");
  expect_ops(integer, {{0, 0}, {0, 10}});
  EXPECT_NEAR(integer.makespan_us, 15.7, kToleranceUs);
  const Times floating =
      simulate(1, R"({"id":0,"cost_us":0.0,"outputs":[0]},)" + second, "[0,0,1]", "0,0");
  expect_ops(floating, {{0, 0}, {5.7, 15.7}});
}

TEST(PlacetoEngine, AnEmptyTransferTakesNoTimeButBlocksTheChannel) {
  const Times times =
      simulate(2, R"({"id":0,"cost_us":10,"outputs":[0]},{"id":1,"cost_us":10,"outputs":[0]})",
               "[0,0,1]", "0,1");
  expect_ops(times, {{0, 10}, {10, 20}});
  EXPECT_NEAR(times.makespan_us, 35, kToleranceUs);
}

TEST(PlacetoEngine, AControlEdgeMovesOutputZero) {
  expect_step(
      simulate(2,
               R"({"id":0,"cost_us":100,"outputs":[760000]},{"id":1,"cost_us":10,"outputs":[0]})",
               "[0,-1,1]", "0,1"),
      {{0, 100}, {200, 210}}, 225);
}

TEST(PlacetoEngine, OfSeveralOutputsReadByOneConsumerTheLastListedCounts) {
  const std::string nodes = R"({"id":0,"cost_us":100,"outputs":[760000,7600]},
                               {"id":1,"cost_us":10,"outputs":[0]})";
  const Times small_last = simulate(2, nodes, "[0,0,1],[0,1,1]", "0,1");
  expect_ops(small_last, {{0, 100}, {101, 111}});
  EXPECT_NEAR(small_last.makespan_us, 126, kToleranceUs);
  const Times large_last = simulate(2, nodes, "[0,1,1],[0,0,1]", "0,1");
  expect_ops(large_last, {{0, 100}, {200, 210}});
  EXPECT_NEAR(large_last.makespan_us, 225, kToleranceUs);
}

TEST(PlacetoEngine, IndependentOpsRunInGraphOrder) {
  expect_step(
      simulate(1, R"({"id":0,"cost_us":10,"outputs":[0]},{"id":1,"cost_us":20,"outputs":[0]})", "",
               "0,0"),
      {{0, 10}, {15.7, 35.7}}, 41.4);
}

TEST(PlacetoEngine, OutputsStayUntilJustBeforeTheEndOfTheirLastConsumer) {
  // a's 1000 bytes live from 0 to 304 (b ends at 305.7, truncated, minus 1); b's 500 from 105.7 to
  // 610; c's 70, which no op reads, are freed when it starts.
  const Times times = simulate(1,
                               R"({"id":0,"cost_us":100,"outputs":[1000]},
                                  {"id":1,"cost_us":200,"outputs":[500]},
                                  {"id":2,"cost_us":300,"outputs":[70]})",
                               "[0,0,1],[1,0,2]", "0,0,0");
  EXPECT_THAT(times.peak_bytes, ElementsAre(1500));
}

TEST(PlacetoEngine, OutputsAreCountedWhereTheyAreMadeAndNotWhereTheyAreSent) {
  const Times times = simulate(2, kChain, kChainEdges, "0,1,1");
  EXPECT_THAT(times.peak_bytes, ElementsAre(7600, 76000 + 760));
}

TEST(PlacetoEngine, DevicesAreServedInTheByteOrderOfTheirNames) {
  // Twelve ops of no cost, one on each device, feed one op each on device 0, all at time 0. Devices
  // are served in the order gpu:0, gpu:1, gpu:10, gpu:11, gpu:2, so their consumers queue in this
  // order.
  std::vector<std::string> nodes;
  std::vector<std::string> edges;
  std::vector<int> placement;
  for (int device = 0; device < 12; ++device) {
    nodes.push_back(fmt::format(R"({{"id":{},"cost_us":0,"outputs":[0]}})", device));
    placement.push_back(device);
  }
  for (int device = 0; device < 12; ++device) {
    nodes.push_back(fmt::format(R"({{"id":{},"cost_us":1,"outputs":[0]}})", 12 + device));
    edges.push_back(fmt::format("[{},0,{}]", device, 12 + device));
    placement.push_back(0);
  }
  const Times times = simulate(12, fmt::format("{}", fmt::join(nodes, ",")),
                               fmt::format("{}", fmt::join(edges, ",")),
                               fmt::format("{}", fmt::join(placement, ",")));
  const auto start = [&](int device) { return times.ops[12 + device].first; };
  EXPECT_LT(start(0), start(1));
  EXPECT_LT(start(1), start(10));
  EXPECT_LT(start(10), start(11));
  EXPECT_LT(start(11), start(2));
}

}  // namespace
}  // namespace emplace::placeto_engine_test

// What draws of small problems must give, derived beside each test. Bounds are 5 standard errors
// of the estimate, so that a test which fails has found something.

#include "support/problems.hpp"

#include <emplace/base/check.hpp>
#include <emplace/profiles/measurement_table.hpp>
#include <emplace/sim/draws.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace emplace::draws_test {
namespace {

constexpr std::int64_t kDraws = 4000;
constexpr double kStandardErrors = 5;

// Gives every measured cost a relative deviation.
OpGraph with_deviation(OpGraph graph, double relative_deviation) {
  for (OpId op = 0; op < num_ops(graph); ++op) {
    for (MeasuredCost& cost : graph[op].measured) {
      cost.relative_deviation = relative_deviation;
    }
  }
  return graph;
}

std::vector<Draws> simulate(const Problem& problem, std::vector<Placement> placements,
                            DrawOptions options = {.draws = kDraws}) {
  return simulate_draws(problem, placements, options);
}

// Two classes of GPUs on which the single op costs 100 us and `other_us`.
Problem one_op_on_two_classes(double other_us, double relative_deviation) {
  OpGraph graph = with_deviation(test::chain_graph({100}, 0), relative_deviation);
  graph[0].measured[1].cost_us = other_us;
  return test::make_problem(std::move(graph), {.num_devices = 1, .with_slow_gpu = true});
}

const Placement kOnGpu(1, 0);
const Placement kOnOtherGpu(1, 1);

// Ops of a chain add up, and their measured costs err one by one: the mean is the sum of the c_i
// and the variance the sum of the (s c_i)^2. The standard error of a mean of n is sd / sqrt(n),
// that of a standard deviation sd sqrt((2 + k) / 4 n) with the excess kurtosis k, here below that
// of one op: 16 s^2 + O(s^4) = 0.16.
TEST(Draws, OfAChainHaveTheSumAsMeanAndTheRootOfSummedSquaresAsDeviation) {
  const std::vector<double> costs_us{10, 20, 30, 40, 50, 60, 70, 80};
  const double relative_deviation = 0.1;
  const double sum_us = 360;
  const double deviation_us = 0.1 * std::sqrt(20400.0);
  const Problem problem =
      test::make_problem(with_deviation(test::chain_graph(costs_us, 0), relative_deviation));
  const DrawSummary summary = summarize(simulate(problem, {Placement(8, 0)})[0]);
  const double n = kDraws;
  EXPECT_NEAR(summary.mean_us, sum_us, kStandardErrors * deviation_us / std::sqrt(n));
  EXPECT_NEAR(summary.standard_deviation_us, deviation_us,
              kStandardErrors * deviation_us * std::sqrt(2.2 / (4 * n)));
  EXPECT_LT(summary.p05_us, summary.median_us);
  EXPECT_LT(summary.median_us, summary.p95_us);
}

// Returns the summary of a chain on one GPU, whose ops are not measured but cost 1 us per FLOP by
// rooflines with a relative deviation of 0.1.
DrawSummary summary_by_rooflines(const std::vector<std::pair<const char*, std::int64_t>>& ops) {
  OpGraph graph = test::chain_graph(std::vector<double>(ops.size(), 1), 0);
  for (std::size_t op = 0; op < ops.size(); ++op) {
    graph[op].measured.clear();
    graph[op].kind = ops[op].first;
    graph[op].flops = ops[op].second;
  }
  Cluster cluster = *test::make_cluster({.num_devices = 1});
  cluster.profiles[0].rooflines.fill(Roofline{.relative_deviation = 0.1});
  cluster.profiles[0].rooflines[static_cast<std::size_t>(OpClass::kOther)].reset();
  cluster.profiles[0].fallback.relative_deviation = 0.1;
  const Problem problem(std::make_shared<const OpGraph>(graph), ungrouped(graph),
                        std::make_shared<const Cluster>(cluster));
  return summarize(simulate(problem, {Placement(problem.num_groups(), 0)})[0]);
}

// Costs of one roofline err together, so standard deviations add up: here to 36 us, where costs
// that err one by one give 14. Kurtosis as above.
TEST(Draws, OfOneRooflineErrTogether) {
  for (const char* kind : {"conv2d", "unknown kind"}) {
    const DrawSummary summary = summary_by_rooflines(
        {{kind, 10}, {kind, 20}, {kind, 30}, {kind, 40}, {kind, 50}, {kind, 60}, {kind, 150}});
    EXPECT_NEAR(summary.standard_deviation_us, 36,
                kStandardErrors * 36 * std::sqrt(2.2 / (4.0 * kDraws)))
        << kind;
  }
}

// Convolutions of 120 us in all, err by 12 us; matrix products of 160 us, by 16; both by 20.
TEST(Draws, OfTwoRooflinesErrApart) {
  const DrawSummary summary =
      summary_by_rooflines({{"conv2d", 50}, {"matmul", 90}, {"conv2d", 70}, {"matmul", 70}});
  EXPECT_NEAR(summary.standard_deviation_us, 20,
              kStandardErrors * 20 * std::sqrt(2.2 / (4.0 * kDraws)));
}

// Two ops of 100 us and two of 50 us, each pair of one key in the profile's table: errors of 20 and
// of 10 us, which are apart. Where the graph has the costs, each of the four errs on its own.
TEST(Draws, OfOneMeasurementErrTogether) {
  OpGraph graph = with_deviation(test::chain_graph({100, 50, 100, 50}, 0), 0.1);
  std::vector<OpMeasurement> measurements;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    graph[op].shape = {graph[op].measured.front().cost_us == 100 ? 2 : 1};
    if (op < 2) {
      measurements.push_back({.key = key_of(graph[op]),
                              .us = graph[op].measured.front().cost_us,
                              .relative_deviation = 0.1,
                              .runs = 3});
    }
  }
  Cluster cluster = *test::make_cluster({.num_devices = 1});
  cluster.profiles[0].measured = MeasurementTable(measurements);
  for (const bool is_in_graph : {true, false}) {
    if (!is_in_graph) {
      for (OpId op = 0; op < num_ops(graph); ++op) {
        graph[op].measured.clear();
      }
    }
    const Problem problem(std::make_shared<const OpGraph>(graph), ungrouped(graph),
                          std::make_shared<const Cluster>(cluster));
    const double variance = is_in_graph ? 2 * 10 * 10 + 2 * 5 * 5 : 20 * 20 + 10 * 10;
    EXPECT_NEAR(summarize(simulate(problem, {Placement(4, 0)})[0]).standard_deviation_us,
                std::sqrt(variance), kStandardErrors * std::sqrt(variance * 2.2 / (4.0 * kDraws)));
  }
}

// Of one op the quantile q is c exp(d z_q - d^2 / 2) with d^2 = ln(1 + s^2) and z_q that of the
// normal distribution. A share q of n draws lies below it, with the standard error
// sqrt(q (1 - q) / n).
TEST(Draws, OfOneOpAreLogNormal) {
  const double relative_deviation = 0.5;
  const Problem problem =
      test::make_problem(with_deviation(test::chain_graph({100}, 0), relative_deviation));
  const Draws draws = simulate(problem, {kOnGpu})[0];
  const double d = std::sqrt(std::log(1.25));
  const double n = kDraws;
  const std::pair<double, double> quantiles[] = {{0.05, -1.6448536269514722},
                                                 {0.25, -0.6744897501960817},
                                                 {0.5, 0},
                                                 {0.75, 0.6744897501960817},
                                                 {0.95, 1.6448536269514722}};
  for (const auto& [q, z] : quantiles) {
    const double quantile_us = 100 * std::exp(d * z - d * d / 2);
    const auto below = std::count_if(draws.makespan_us.begin(), draws.makespan_us.end(),
                                     [&](double us) { return us <= quantile_us; });
    EXPECT_NEAR(static_cast<double>(below) / n, q, kStandardErrors * std::sqrt(q * (1 - q) / n));
  }
  EXPECT_GT(*std::min_element(draws.makespan_us.begin(), draws.makespan_us.end()), 0);
}

TEST(Draws, OfExactCostsAllEqualThePlainRun) {
  const Problem problem = test::make_problem(test::chain_graph({0.1, 0.2, 0.3}, 7));
  const Placement placement(std::vector<DeviceId>{0, 1, 0});
  const double makespan_us = Simulator(problem).run(placement).makespan_us;
  const DrawSummary summary = summarize(simulate(problem, {placement}, {.draws = 11})[0]);
  EXPECT_EQ(summary.mean_us, makespan_us);
  EXPECT_EQ(summary.p05_us, makespan_us);
  EXPECT_EQ(summary.median_us, makespan_us);
  EXPECT_EQ(summary.p95_us, makespan_us);
  EXPECT_EQ(summary.standard_deviation_us, 0);
  EXPECT_EQ(num_uncertain_costs(problem, placement), 0);
}

TEST(Draws, CountTheCostsThatVaryWhereTheOpsAre) {
  OpGraph graph = test::chain_graph({10, 20, 0}, 0);
  graph[0].measured[0].relative_deviation = 0.1;  // on "test"
  graph[1].measured[1].relative_deviation = 0.1;  // on "slow-test"
  graph[2].measured[0].relative_deviation = 0.1;  // of a cost of 0, which stays 0
  const Problem problem =
      test::make_problem(std::move(graph), {.num_devices = 1, .with_slow_gpu = true});
  EXPECT_EQ(num_uncertain_costs(problem, Placement(3, 0)), 1);
  EXPECT_EQ(num_uncertain_costs(problem, Placement(3, 1)), 1);
  EXPECT_EQ(num_uncertain_costs(problem, Placement(std::vector<DeviceId>{0, 1, 0})), 2);
  EXPECT_EQ(num_uncertain_costs(problem, Placement(std::vector<DeviceId>{1, 0, 0})), 0);
}

// The model `physical` has an engine of its own; launches are exact: 8 of 5 us.
TEST(Draws, OfThePhysicalModelAddExactLaunches) {
  Cluster cluster = *test::make_cluster({.num_devices = 1});
  cluster.transfer_model = TransferModel::kPhysical;
  cluster.topology = Topology(1, {});
  cluster.profiles[0].launch_us = 5;
  const OpGraph graph =
      with_deviation(test::chain_graph({100, 100, 100, 100, 100, 100, 100, 100}, 0), 0.1);
  const Problem problem(std::make_shared<const OpGraph>(graph), ungrouped(graph),
                        std::make_shared<const Cluster>(cluster));
  const DrawSummary summary = summarize(simulate(problem, {Placement(8, 0)})[0]);
  const double deviation_us = 10 * std::sqrt(8.0);
  const double n = kDraws;
  EXPECT_NEAR(summary.mean_us, 840, kStandardErrors * deviation_us / std::sqrt(n));
  EXPECT_NEAR(summary.standard_deviation_us, deviation_us,
              kStandardErrors * deviation_us * std::sqrt(2.2 / (4 * n)));
}

// On one thread and on two, with twice as many draws, and with another seed.
TEST(Draws, AreTheSameBitsOnAnyNumberOfThreads) {
  const Problem problem = test::make_problem(with_deviation(test::diamond_graph(100), 0.2));
  const std::vector<Placement> placements{Placement(std::vector<DeviceId>{0, 1, 0, 0}),
                                          Placement(4, 1)};
  const auto run = [&](std::size_t threads, std::uint64_t seed, std::int64_t draws) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    return simulate_draws(problem, placements, {.draws = draws, .seed = seed});
  };
  const std::vector<Draws> one = run(1, 7, 500);
  const std::vector<Draws> two = run(2, 7, 500);
  const std::vector<Draws> longer = run(2, 7, 1000);
  for (std::size_t at = 0; at < placements.size(); ++at) {
    EXPECT_EQ(one[at].makespan_us, two[at].makespan_us);
    EXPECT_TRUE(std::equal(one[at].makespan_us.begin(), one[at].makespan_us.end(),
                           longer[at].makespan_us.begin()));
  }
  EXPECT_NE(one[0].makespan_us, run(2, 8, 500)[0].makespan_us);
}

TEST(Draws, OfNeighbouringSeedsShareNoDraw) {
  const Problem problem = test::make_problem(with_deviation(test::chain_graph({100}, 0), 0.2));
  std::vector<double> all;
  for (const std::uint64_t seed : {0, 1, 2}) {
    const Draws some = simulate(problem, {kOnGpu}, {.draws = 100, .seed = seed})[0];
    all.insert(all.end(), some.makespan_us.begin(), some.makespan_us.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

// Measured costs belong to a class of devices, even where it has two profiles.
TEST(Draws, OfDevicesOfOneClassTieExactly) {
  Cluster cluster = *test::make_cluster({.num_devices = 3});
  cluster.profiles.push_back(cluster.profiles[0]);
  cluster.devices[2].profile = 1;
  const OpGraph graph = with_deviation(test::diamond_graph(0), 0.3);
  const Problem problem(std::make_shared<const OpGraph>(graph), ungrouped(graph),
                        std::make_shared<const Cluster>(cluster));
  const std::vector<Draws> draws =
      simulate(problem, {Placement(4, 0), Placement(4, 1), Placement(4, 2)});
  EXPECT_EQ(draws[0].makespan_us, draws[1].makespan_us);
  EXPECT_EQ(draws[0].makespan_us, draws[2].makespan_us);
  EXPECT_NE(draws[0].makespan_us[0], draws[0].makespan_us[1]);
  const DrawComparison comparison = compare(draws[0], draws[1]);
  EXPECT_EQ(comparison.probability, 0.5);
  EXPECT_EQ(comparison.mean_difference_us, 0);
}

// Costs of two classes err apart, so equally long steps beat each other as often as not; the
// standard error of that share is sqrt(1/4 / n).
TEST(Draws, OfEqualCostsOnTwoClassesWinHalfOfTheTime) {
  const Problem problem = one_op_on_two_classes(100, 0.1);
  const std::vector<Draws> draws = simulate(problem, {kOnGpu, kOnOtherGpu});
  const DrawComparison comparison = compare(draws[0], draws[1]);
  EXPECT_NEAR(comparison.probability, 0.5, kStandardErrors * std::sqrt(0.25 / kDraws));
  EXPECT_LT(comparison.probability_low, 0.5);
  EXPECT_GT(comparison.probability_high, 0.5);
}

// The logarithms of both costs are normal with variance d^2 = ln(1 + s^2), so that of their ratio
// has 2 d^2, and P(A < B) = Phi(ln(c_B / c_A) / (d sqrt 2)); Phi(x) = erfc(-x / sqrt 2) / 2.
TEST(Draws, GiveTheProbabilityThatFollowsFromTheDistribution) {
  const Problem problem = one_op_on_two_classes(105, 0.1);
  const std::vector<Draws> draws = simulate(problem, {kOnGpu, kOnOtherGpu});
  const DrawComparison comparison = compare(draws[0], draws[1]);
  const double p = std::erfc(-std::log(1.05) / (2 * std::sqrt(std::log(1.01)))) / 2;
  EXPECT_NEAR(p, 0.635, 0.001);
  EXPECT_NEAR(comparison.probability, p, kStandardErrors * std::sqrt(p * (1 - p) / kDraws));
  EXPECT_NEAR(comparison.mean_difference_us, -5,
              kStandardErrors * std::sqrt((100.0 + 105 * 1.05) / kDraws));
}

TEST(Draws, OfTheFasterPlacementAlwaysWin) {
  const Problem problem = one_op_on_two_classes(1000, 0.03);
  const std::vector<Draws> draws = simulate(problem, {kOnGpu, kOnOtherGpu});
  EXPECT_EQ(compare(draws[0], draws[1]).probability, 1);
  EXPECT_EQ(compare(draws[1], draws[0]).probability, 0);
}

// A step that does not fit is no step, however short.
TEST(Draws, ThatRunOutOfMemoryAreCountedAndLose) {
  Draws fits{.makespan_us = {10, 10, 10}, .status = std::vector(3, StepStatus::kOk)};
  Draws bursts{.makespan_us = {1, 1, 1},
               .status = {StepStatus::kOutOfMemory, StepStatus::kOk, StepStatus::kOutOfMemory}};
  EXPECT_EQ(summarize(bursts).out_of_memory, 2);
  EXPECT_DOUBLE_EQ(compare(fits, bursts).probability, 2.0 / 3);
  EXPECT_DOUBLE_EQ(compare(bursts, bursts).probability, 0.5);

  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 1, .output_bytes = 100}}), {.memory_bytes = 99});
  EXPECT_EQ(summarize(simulate(problem, {kOnGpu}, {.draws = 3})[0]).out_of_memory, 3);
}

// The ceil(q n)-th smallest: of 20 the first, the tenth and the nineteenth.
TEST(DrawSummary, TakesQuantilesFromTheDrawsThatThereAre) {
  Draws draws{.makespan_us = std::vector<double>(20), .status = std::vector(20, StepStatus::kOk)};
  std::iota(draws.makespan_us.rbegin(), draws.makespan_us.rend(), 1.0);
  const DrawSummary summary = summarize(draws);
  EXPECT_EQ(summary.p05_us, 1);
  EXPECT_EQ(summary.median_us, 10);
  EXPECT_EQ(summary.p95_us, 19);
  EXPECT_EQ(summary.mean_us, 10.5);
  EXPECT_DOUBLE_EQ(summary.standard_deviation_us, std::sqrt(35.0));  // (20^2 - 1) / 12 * 20 / 19
}

// Newcombe 1998, Table I: 81 of 263 gives 0.2553 to 0.3662, and 0 of 20 gives 0 to 0.1611.
TEST(DrawComparison, HasTheIntervalOfWilson) {
  const auto wins = [](std::size_t won, std::size_t draws) {
    Draws first{.makespan_us = std::vector<double>(draws, 2),
                .status = std::vector(draws, StepStatus::kOk)};
    const Draws second{.makespan_us = std::vector<double>(draws, 1.5), .status = first.status};
    std::fill_n(first.makespan_us.begin(), won, 1.0);
    return compare(first, second);
  };
  EXPECT_NEAR(wins(81, 263).probability_low, 0.2553, 5e-5);
  EXPECT_NEAR(wins(81, 263).probability_high, 0.3662, 5e-5);
  EXPECT_EQ(wins(0, 20).probability_low, 0);
  EXPECT_NEAR(wins(0, 20).probability_high, 0.1611, 5e-5);
  EXPECT_EQ(wins(20, 20).probability_high, 1);
}

TEST(Draws, OfTheLargestCostsAndSpreadsStayFinite) {
  const OpGraph graph =
      with_deviation(test::chain_graph({2e15, 3e15, 4e15}, 1000), kMaxRelativeDeviation);
  const Problem problem = test::make_problem(graph);
  const Draws draws = simulate(problem, {Placement(std::vector<DeviceId>{0, 1, 0})})[0];
  for (const double makespan_us : draws.makespan_us) {
    EXPECT_TRUE(makespan_us > 0 && makespan_us < 0x1p63) << makespan_us;
  }
}

TEST(Draws, WithoutAnyOrTooManyAreOurMistake) {
  const Problem problem = test::make_problem(test::chain_graph({1}, 0));
  for (const std::int64_t draws : {std::int64_t{0}, std::int64_t{-1}, kMaxDraws + 1}) {
    EXPECT_THROW(simulate(problem, {kOnGpu}, {.draws = draws}), InternalError) << draws;
  }
}

}  // namespace
}  // namespace emplace::draws_test

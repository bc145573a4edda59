// Contiguous stages: by hand, against all splits of small random graphs, and on large graphs.

#include "pipeline/stage_split.hpp"

#include "pipeline/stage_graph.hpp"
#include "support/problems.hpp"

#include <emplace/base/random.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace emplace::agents::stage_split_test {
namespace {

using testing::ElementsAre;

StageGraph graph_of(const Problem& problem) {
  return stage_graph(problem, problem.placeable_devices());
}

StageSplit best_in_order(const StageGraph& graph) {
  return splits_in_order(graph, depth_first_order(graph)).back();
}

StageSplit best_of_all(const StageGraph& graph) {
  return split_over_ideals(graph, 1'000'000, best_in_order(graph));
}

// A producer of 7 bytes, two consumers, and a sink that reads 5 and 11 bytes.
OpGraph diamond() {
  return test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 7},
                           {.name = "b", .cost_us = 20, .output_bytes = 5, .producers = {0}},
                           {.name = "c", .cost_us = 30, .output_bytes = 11, .producers = {0}},
                           {.name = "d", .cost_us = 40, .producers = {1, 2}}});
}

TEST(StageLoad, CountsEachValueThatEntersOrLeavesOnce) {
  const StageGraph graph = graph_of(test::make_problem(diamond()));
  const auto load = [&](const std::vector<BlockId>& blocks) { return load_us(graph, 0, blocks); };
  EXPECT_DOUBLE_EQ(load({0}), 10 + 7);  // sent once, to two readers
  EXPECT_DOUBLE_EQ(load({1, 2}), 20 + 30 + 7 + 5 + 11);
  EXPECT_DOUBLE_EQ(load({0, 1}), 10 + 20 + 7 + 5);
  EXPECT_DOUBLE_EQ(load({3}), 40 + 5 + 11);
  EXPECT_DOUBLE_EQ(load({0, 1, 2, 3}), 100);
}

TEST(StageLoad, TransfersHaveTheLatencyOfTheirLinks) {
  const StageGraph graph =
      graph_of(test::make_problem(diamond(), {.bytes_per_us = 2, .gap_after_transfer_us = 0}));
  EXPECT_DOUBLE_EQ(load_us(graph, 0, std::vector<BlockId>{0}), 10 + 3.5);
}

TEST(StageSplit, CutsAChainWhereTheLargestLoadIsLeast) {
  const StageGraph graph =
      graph_of(test::make_problem(test::chain_graph({10, 20, 30, 40, 50}, 1), {.num_devices = 3}));
  const StageSplit split = best_in_order(graph);
  ASSERT_EQ(split.stages.size(), 3U);
  EXPECT_THAT(split.stages[0].blocks, ElementsAre(0, 1, 2));
  EXPECT_THAT(split.stages[1].blocks, ElementsAre(3));
  EXPECT_THAT(split.stages[2].blocks, ElementsAre(4));
  EXPECT_DOUBLE_EQ(split.max_load_us, 61);
  EXPECT_DOUBLE_EQ(split.stages[1].load_us, 42);
}

TEST(StageSplit, OfFewerDevicesHasTheBestForEachNumber) {
  const StageGraph graph =
      graph_of(test::make_problem(test::chain_graph({10, 20, 30, 40}, 0), {.num_devices = 4}));
  std::vector<double> loads_us;
  for (const StageSplit& split : splits_in_order(graph, depth_first_order(graph))) {
    loads_us.push_back(split.max_load_us);
  }
  EXPECT_THAT(loads_us, ElementsAre(100, 60, 40, 40));
}

TEST(StageSplit, KeepsWeightsWithinTheMemory) {
  std::vector<test::OpSketch> ops;
  for (int op = 0; op < 6; ++op) {
    ops.push_back(
        {.name = fmt::format("op_{}", op), .cost_us = 10, .persistent_bytes = op < 2 ? 60 : 20});
    if (op > 0) {
      ops.back().producers = {op - 1};
    }
  }
  const Problem problem = test::make_problem(test::make_graph(ops), {.memory_bytes = 110});
  const StageSplit split = best_in_order(graph_of(problem));
  EXPECT_EQ(split.stages.size(), 0U) << "200 bytes in order: 60, then 60 + 80";
  const Problem larger = test::make_problem(test::make_graph(ops), {.memory_bytes = 120});
  const StageSplit fits = best_in_order(graph_of(larger));
  ASSERT_EQ(fits.stages.size(), 2U);
  EXPECT_THAT(fits.stages[0].blocks, ElementsAre(0, 1));
}

// 60 + 40 and 50 + 50 fit, but are not contiguous in the order of the ops.
TEST(StageSplit, OverIdealsFitsWhereNoneInOrderDoes) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .persistent_bytes = 60},
                                           {.name = "b", .persistent_bytes = 50},
                                           {.name = "c", .persistent_bytes = 40},
                                           {.name = "d", .persistent_bytes = 50}}),
                         {.memory_bytes = 100});
  const StageGraph graph = graph_of(problem);
  EXPECT_EQ(best_in_order(graph).stages.size(), 0U);
  EXPECT_DOUBLE_EQ(best_of_all(graph).max_load_us, 2);
}

TEST(StageSplit, GivesASlowDeviceLess) {
  const Problem problem = test::make_problem(test::chain_graph({10, 10, 10, 10, 10, 10}, 0),
                                             {.num_devices = 1, .with_slow_gpu = true});
  const StageSplit split = best_in_order(graph_of(problem));
  EXPECT_DOUBLE_EQ(split.max_load_us, 40);
  ASSERT_EQ(split.stages.size(), 2U);
  const auto& slow = split.stages[0].kind == 1 ? split.stages[0] : split.stages[1];
  EXPECT_EQ(slow.blocks.size(), 2U);
}

TEST(StageSplit, KeepsWhatIsKnownIfThereAreTooManyIdeals) {
  const StageGraph graph = graph_of(test::make_problem(test::fork_join_graph(6, 1)));
  const StageSplit known = best_in_order(graph);
  const std::size_t ideals = 64 + 2;  // subsets of six, nothing, all
  EXPECT_FALSE(split_over_ideals(graph, ideals - 1, known).is_over_all_ideals);
  EXPECT_EQ(split_over_ideals(graph, ideals - 1, known).max_load_us, known.max_load_us);
  EXPECT_TRUE(split_over_ideals(graph, ideals, known).is_over_all_ideals);
}

TEST(StageSplit, ValuesOfTheSameBlocksAreOneNet) {
  OpGraph ops = test::make_graph({{.name = "a", .cost_us = 1, .output_bytes = 7},
                                  {.name = "b", .cost_us = 2, .output_bytes = 8, .producers = {0}},
                                  {.name = "a#1", .cost_us = 1, .output_bytes = 9},
                                  {.name = "b#1", .cost_us = 2, .producers = {2}}});
  const Problem problem(std::make_shared<const OpGraph>(std::move(ops)), Grouping({0, 1, 0, 1}),
                        test::make_cluster({}));
  const StageGraph graph = graph_of(problem);
  ASSERT_EQ(graph.nets.size(), 1U);
  EXPECT_EQ(graph.nets[0].values, 2);
  EXPECT_EQ(graph.nets[0].bytes, 16);
}

// A layer forward and backward again, as training graphs have them.
TEST(StageGraph, HasBackwardGroupsWithTheForwardGroupThatTheyReadInTheirScope) {
  OpGraph ops = test::make_graph(
      {{.name = "x", .output_bytes = 1},
       {.name = "a", .producers = {0}, .scope = "one"},
       {.name = "b", .producers = {1}, .scope = "one"},
       {.name = "c", .producers = {0, 2}, .scope = "two"},
       {.name = "loss", .producers = {3}, .scope = "loss"},
       {.name = "c/grad", .producers = {4, 0}, .scope = "two"},        // reads x, but is of c
       {.name = "b/grad", .producers = {5, 1}, .scope = "one"},        // reads what a makes
       {.name = "b/sum", .producers = {6}, .scope = "one"},            // reads no forward value
       {.name = "a/grad", .producers = {7, 0}, .scope = "elsewhere"},  // a scope without others
       {.name = "update", .producers = {8}}});
  for (std::size_t op = 5; op < 10; ++op) {
    ops[op].phase = op == 9 ? Phase::kUpdate : Phase::kBackward;
  }
  const StageGraph graph = graph_of(test::make_problem(ops));
  EXPECT_EQ(graph.num_blocks(), 5);
  EXPECT_THAT(graph.block_of, ElementsAre(0, 1, 2, 3, 4, 3, 1, 1, 0, 0));
}

TEST(StageGraph, MergesLeavesThatTakeNoTime) {
  const StageGraph graph = without_idle_leaves(graph_of(
      test::make_problem(test::make_graph({{.name = "constant", .cost_us = 0, .output_bytes = 9},
                                           {.name = "view", .cost_us = 0, .producers = {0}},
                                           {.name = "a", .cost_us = 5, .producers = {1}},
                                           {.name = "b", .cost_us = 5, .producers = {2}},
                                           {.name = "end", .cost_us = 0, .producers = {2, 3}}}))));
  EXPECT_THAT(graph.block_of, ElementsAre(0, 0, 0, 1, 2));
}

// --- All splits
// -----------------------------------------------------------------------------------

struct RandomProblem {
  std::vector<test::OpSketch> ops;
  Problem problem;
};

RandomProblem random_problem(std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<test::OpSketch> ops;
  const auto count = static_cast<OpId>(3 + random.below(5));
  for (OpId op = 0; op < count; ++op) {
    ops.push_back({.name = fmt::format("op_{}", op),
                   .cost_us = static_cast<double>(random.below(20)),
                   .output_bytes = static_cast<std::int64_t>(random.below(12)),
                   .persistent_bytes = static_cast<std::int64_t>(random.below(50))});
    for (OpId producer = 0; producer < op; ++producer) {
      if (random.below(3) == 0) {
        ops.back().producers.push_back(producer);
      }
    }
  }
  Problem problem = test::make_problem(
      test::make_graph(ops), {.num_devices = static_cast<DeviceId>(1 + random.below(3)),
                              .memory_bytes = 40 + static_cast<std::int64_t>(random.below(200)),
                              .with_slow_gpu = random.below(2) == 0});
  return {std::move(ops), std::move(problem)};
}

// Returns the load of the ops whose stage is `stage`, from the definition, or infinity if their
// weights do not fit.
double load_of(const RandomProblem& random, const std::vector<std::size_t>& stage_of,
               std::size_t stage, DeviceId device) {
  double us = 0;
  std::int64_t weights = 0;
  for (std::size_t op = 0; op < stage_of.size(); ++op) {
    std::set<std::size_t> readers;
    for (std::size_t reader = 0; reader < stage_of.size(); ++reader) {
      if (std::ranges::count(random.ops[reader].producers, static_cast<OpId>(op)) > 0) {
        readers.insert(stage_of[reader]);
      }
    }
    const auto bytes = static_cast<double>(random.ops[op].output_bytes);
    if (stage_of[op] == stage) {
      us += random.problem.cost_us(static_cast<OpId>(op), device);
      weights += random.ops[op].persistent_bytes;
      readers.erase(stage);
      us += readers.empty() ? 0.0 : bytes;
    } else if (readers.contains(stage)) {
      us += bytes;
    }
  }
  if (weights > random.problem.memory_bytes(device)) {
    return kInfinity;
  }
  return us;
}

// Tries all ways to give the ops to the devices, in any order of these, in which no value goes
// back.
double least_max_load_us(const RandomProblem& random) {
  const auto placeable = random.problem.placeable_devices();
  std::vector<DeviceId> devices(placeable.begin(), placeable.end());
  double best_us = kInfinity;
  do {
    std::vector<std::size_t> stage_of(random.ops.size(), 0);
    const std::function<void(std::size_t)> try_from = [&](std::size_t op) {
      if (op < stage_of.size()) {
        std::size_t first = 0;
        for (const OpId producer : random.ops[op].producers) {
          first = std::max(first, stage_of[index_of(producer)]);
        }
        for (std::size_t stage = first; stage < devices.size(); ++stage) {
          stage_of[op] = stage;
          try_from(op + 1);
        }
        return;
      }
      double max_us = 0;
      for (std::size_t stage = 0; stage < devices.size(); ++stage) {
        max_us = std::max(max_us, load_of(random, stage_of, stage, devices[stage]));
      }
      best_us = std::min(best_us, max_us);
    };
    try_from(0);
  } while (std::ranges::next_permutation(devices).found);
  return best_us;
}

TEST(StageSplit, OverIdealsIsTheBestOfAllSplits) {
  int better_than_in_order = 0;
  int infeasible = 0;
  int roomy = 0;
  int merges = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomProblem random = random_problem(seed);
    const StageGraph graph = graph_of(random.problem);
    const StageSplit split = best_of_all(graph);
    const double least_us = least_max_load_us(random);
    if (least_us == kInfinity) {
      ++infeasible;
      EXPECT_EQ(split.max_load_us, kInfinity);
      continue;
    }
    EXPECT_TRUE(split.is_over_all_ideals);
    EXPECT_NEAR(split.max_load_us, least_us, 1e-9 * least_us);
    better_than_in_order += split.max_load_us < best_in_order(graph).max_load_us * (1 - 1e-9);

    // The placement has the stages and their loads.
    const Placement placement = placement_of(random.problem, graph, split);
    std::vector<std::size_t> stage_of;
    for (GroupId group = 0; group < placement.size(); ++group) {
      stage_of.push_back(index_of(placement[group]));
    }
    double max_us = 0;
    for (const DeviceId device : random.problem.placeable_devices()) {
      max_us = std::max(max_us, load_of(random, stage_of, index_of(device), device));
    }
    EXPECT_NEAR(max_us, least_us, 1e-9 * least_us);
    // Without limits of memory, leaves that take no time change nothing.
    const auto weights = [](std::int64_t sum, const test::OpSketch& op) {
      return sum + op.persistent_bytes;
    };
    if (std::accumulate(random.ops.begin(), random.ops.end(), std::int64_t{0}, weights) <=
        random.problem.memory_bytes(0)) {
      ++roomy;
      const StageGraph fewer = without_idle_leaves(graph);
      merges += fewer.num_blocks() < graph.num_blocks();
      EXPECT_NEAR(best_of_all(fewer).max_load_us, least_us, 1e-9 * least_us);
    }
  }
  EXPECT_GT(better_than_in_order, 10);
  EXPECT_GT(infeasible, 10);
  EXPECT_GT(roomy, 10);
  EXPECT_GT(merges, 0);
  EXPECT_LT(infeasible, 200);
}

// --- Large graphs
// -----------------------------------------------------------------------------------

TEST(StageSplit, MergesNeighboursInALongOrder) {
  RandomStream random(1);
  std::vector<double> costs_us;
  double total_us = 0;
  for (int op = 0; op < 20'000; ++op) {
    costs_us.push_back(static_cast<double>(random.below(10)));
    total_us += costs_us.back();
  }
  const Problem problem = test::make_problem(test::chain_graph(costs_us, 1), {.num_devices = 8});
  const StageGraph graph = graph_of(problem);
  const StageSplit split = best_in_order(graph);
  EXPECT_LE(split.max_load_us, total_us / 8 * 1.005);
  std::size_t blocks = 0;
  for (const Stage& stage : split.stages) {
    EXPECT_DOUBLE_EQ(stage.load_us, load_us(graph, stage.kind, stage.blocks));
    blocks += stage.blocks.size();
  }
  EXPECT_EQ(blocks, 20'000U);
}

// A stage does not end where a value of a million bytes crosses.
TEST(StageSplit, CutsALongOrderWhereFewBytesCross) {
  std::vector<test::OpSketch> ops;
  for (int op = 0; op < 10'000; ++op) {
    ops.push_back({.name = fmt::format("op_{}", op),
                   .cost_us = 1,
                   .output_bytes = op % 10 == 4 ? 1 : 1'000'000});
    if (op > 0) {
      ops.back().producers = {op - 1};
    }
  }
  const Problem problem = test::make_problem(test::make_graph(ops), {.num_devices = 4});
  EXPECT_LT(best_in_order(graph_of(problem)).max_load_us, 2600);
}

// With twelve kinds of devices there are 4,096 sets of devices.
TEST(StageSplit, TakesDevicesInOrderIfTheirKindsAreTooMany) {
  auto cluster = std::make_shared<Cluster>(*test::make_cluster({.num_devices = 12}));
  for (std::size_t device = 0; device < 12; ++device) {
    cluster->devices[device].profile = cluster->profiles.size();
    cluster->profiles.push_back(cluster->profiles.front());
  }
  auto graph = std::make_shared<const OpGraph>(test::chain_graph(std::vector<double>(24, 5.0), 0));
  Grouping grouping = ungrouped(*graph);
  const Problem problem(std::move(graph), std::move(grouping), std::move(cluster));
  const StageGraph stages = graph_of(problem);
  EXPECT_EQ(stages.kinds.size(), 12U);
  EXPECT_DOUBLE_EQ(best_in_order(stages).max_load_us, 10);
}

}  // namespace
}  // namespace emplace::agents::stage_split_test

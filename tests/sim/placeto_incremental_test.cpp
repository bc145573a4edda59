// Is an incremental run of a few moved groups a full run to the last bit? Walks like those of
// searches, each step compared with that of an engine that forgets.

#include "sim/src/placeto_model/placeto_engine.hpp"
#include "support/problems.hpp"
#include "support/walks.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/sim/neighbourhood.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::placeto_incremental_test {
namespace {

using placeto_model::PlacetoEngine;
using test::climb;
using test::gather;
using test::make_problem;
using test::random_placement;
using test::wander;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Places equal parts of the topological order, each on a device of its own.
Placement in_parts(const Problem& problem) {
  const std::span<const GroupId> order = problem.group_order();
  Placement placement(problem.num_groups());
  for (std::size_t at = 0; at < order.size(); ++at) {
    placement[order[at]] =
        static_cast<DeviceId>(at * static_cast<std::size_t>(problem.num_devices()) / order.size());
  }
  return placement;
}

// Returns the moves that lead from one placement to another.
std::vector<Move> moves_between(const Placement& from, const Placement& to) {
  std::vector<Move> moves;
  for (GroupId group = 0; group < to.size(); ++group) {
    if (from[group] != to[group]) {
      moves.push_back({group, to[group]});
    }
  }
  return moves;
}

// Runs placements twice, as moves from the nearer of the base and the last one, and in full, and
// compares all that there is.
class Comparison {
 public:
  explicit Comparison(const Problem& problem)
      : engine_(problem, problem.costs()), reference_(problem, problem.costs()) {}

  double makespan_us(const Placement& placement) {
    if (num_runs == 0) {
      engine_.start(placement);
      base_ = placement;
    } else {
      std::vector<Move> moves = moves_between(base_, placement);
      if (std::vector<Move> from_last = moves_between(last_, placement);
          from_last.size() < moves.size()) {
        engine_.accept();
        base_ = last_;
        moves = std::move(from_last);
      }
      engine_.try_moves(base_, placement, moves, Engine::kNoCutoff);
    }
    last_ = placement;
    const StepRecord record = engine_.describe(placement);
    reference_.run(placement, Engine::kNoCutoff);
    const StepRecord expected = reference_.describe(placement);
    ++num_runs;
    num_incremental += engine_.was_incremental();
    EXPECT_EQ(record.makespan_us, expected.makespan_us);
    EXPECT_TRUE(record.start_us == expected.start_us);
    EXPECT_TRUE(record.end_us == expected.end_us);
    EXPECT_TRUE(record.transfers == expected.transfers);
    EXPECT_TRUE(record.allocations == expected.allocations);
    EXPECT_TRUE(record.peak_bytes == expected.peak_bytes);
    return record.makespan_us;
  }

  int num_runs = 0;
  int num_incremental = 0;

 private:
  PlacetoEngine engine_;
  PlacetoEngine reference_;
  Placement base_;
  Placement last_;
};

MATCHER_P3(Sent, producer, start_us, end_us, "") {
  return arg.producer == producer && arg.start_us == start_us && arg.end_us == end_us;
}

TEST(PlacetoIncremental, AMoveChangesWhatComesAfterItAndNothingElse) {
  // a(100) -> b(200), c(200) -> d(50) with 10 bytes, 1 byte/us. With c elsewhere it starts at 110
  // and ends at 310; d has c's output at 320 and ends at 370.
  const Problem problem = make_problem(test::diamond_graph(10), {.num_devices = 2});
  PlacetoEngine engine(problem, problem.costs());
  const Placement base(4);
  EXPECT_THAT(engine.start(base).start_us, ElementsAre(0, 100, 300, 500));
  EXPECT_FALSE(engine.was_incremental());
  const Placement apart(std::vector<DeviceId>{0, 0, 1, 0});
  const Move away{2, 1};
  engine.try_moves(base, apart, {&away, 1}, Engine::kNoCutoff);
  const StepRecord moved = engine.describe(apart);
  EXPECT_TRUE(engine.was_incremental());
  EXPECT_THAT(moved.start_us, ElementsAre(0, 100, 110, 320));
  EXPECT_THAT(moved.end_us, ElementsAre(100, 300, 310, 370));
  EXPECT_THAT(moved.transfers, ElementsAre(Sent(0, 100, 110), Sent(2, 310, 320)));
  // a's 10 bytes are there until c no longer needs them; b's and, from 320, d's none come to them.
  EXPECT_THAT(moved.peak_bytes, ElementsAre(20, 10));
  EXPECT_EQ(moved.makespan_us, 370);
  engine.accept();
  const Move home{2, 0};
  engine.try_moves(apart, base, {&home, 1}, Engine::kNoCutoff);
  const StepRecord back = engine.describe(base);
  EXPECT_TRUE(engine.was_incremental());
  EXPECT_THAT(back.start_us, ElementsAre(0, 100, 300, 500));
  EXPECT_THAT(back.transfers, IsEmpty());
}

TEST(PlacetoIncremental, AMoveThatReversesTheOrderOnADeviceIsNoticed) {
  // On device 0, x is ready at 20 and y at 30. With the producer of x elsewhere, x waits for 40
  // bytes until 10 + 40 = 50, so y goes first: 30 to 130, then x.
  const Problem problem =
      make_problem(test::make_graph({{.name = "p", .cost_us = 10, .output_bytes = 40},
                                     {.name = "q", .cost_us = 20, .output_bytes = 0},
                                     {.name = "x", .cost_us = 100, .producers = {0}},
                                     {.name = "y", .cost_us = 100, .producers = {1}}}),
                   {.num_devices = 3});
  PlacetoEngine engine(problem, problem.costs());
  const Placement base(4);
  EXPECT_THAT(engine.start(base).start_us, ElementsAre(0, 10, 30, 130));
  const Placement moved(std::vector<DeviceId>{1, 0, 0, 0});
  const Move move{0, 1};
  EXPECT_THAT(engine.try_moves(base, moved, {&move, 1}, Engine::kNoCutoff).start_us,
              ElementsAre(0, 0, 120, 20));
  EXPECT_TRUE(engine.was_incremental());
}

TEST(PlacetoIncremental, TheSamePlacementAgainIsTheSameStep) {
  RandomStream random(5);
  const Problem problem = make_problem(test::fork_join_graph(20, 7));
  Comparison comparison(problem);
  const Placement placement = random_placement(problem, random);
  const double makespan_us = comparison.makespan_us(placement);
  EXPECT_EQ(comparison.makespan_us(placement), makespan_us);
  EXPECT_EQ(comparison.makespan_us(placement), makespan_us);
  EXPECT_EQ(comparison.num_incremental, 2);
}

TEST(PlacetoIncremental, MovesOfManyGroupsAreRunInFull) {
  const Problem problem = make_problem(test::fork_join_graph(20, 7), {.num_devices = 2});
  RandomStream random(7);
  Comparison comparison(problem);
  for (int round = 0; round < 10; ++round) {
    comparison.makespan_us(random_placement(problem, random));
  }
  EXPECT_EQ(comparison.num_incremental, 0);
}

TEST(PlacetoIncremental, PlacementsWithPrioritiesAreRunInFull) {
  const Problem problem = make_problem(test::fork_join_graph(20, 7), {.num_devices = 2});
  Placement base(problem.num_groups());
  IdVector<GroupId, Priority> priorities;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    priorities.push_back(group);
  }
  base.set_priorities(priorities);
  Neighbourhood neighbourhood(problem);
  neighbourhood.start(base);
  Simulator simulator(problem);
  for (GroupId group = 1; group < problem.num_groups(); ++group) {
    const Move move{group, 1};
    const double moved_us = neighbourhood.try_moves({&move, 1}).makespan_us;
    EXPECT_EQ(moved_us, simulator.run(neighbourhood.tried()).makespan_us);
    if (group % 3 == 0) {
      neighbourhood.accept();
    }
  }
}

Problem on_four_k80s(const std::string& graph_name, const std::string& grouping_name) {
  auto graph = std::make_shared<const OpGraph>(load_graph(graph_name));
  Grouping grouping = grouping_name == "ungrouped"
                          ? ungrouped(*graph)
                          : find_grouping(grouping_name).group(*graph, kDefaultGroups);
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const Cluster>(load_cluster("p2-8xlarge-4")));
}

// Graphs that agents place: Inception-V3, whose training step has 192 variables that are all ready
// at once.
class PlacetoIncrementalOfInception : public ::testing::TestWithParam<const char*> {
 protected:
  PlacetoIncrementalOfInception()
      : problem_(std::make_unique<Problem>(on_four_k80s("inception-v3", GetParam()))) {}

  std::unique_ptr<Problem> problem_;
};

TEST_P(PlacetoIncrementalOfInception, EqualsFullRunsOnAClimb) {
  RandomStream random(1);
  Comparison comparison(*problem_);
  climb(comparison, *problem_, random_placement(*problem_, random), 1000, random);
  climb(comparison, *problem_, Placement(problem_->num_groups()), 500, random);
  EXPECT_GT(comparison.num_incremental, comparison.num_runs * 19 / 20);
}

TEST_P(PlacetoIncrementalOfInception, EqualsFullRunsOnAWanderWithRestarts) {
  RandomStream random(2);
  Comparison comparison(*problem_);
  wander(comparison, *problem_, random_placement(*problem_, random), 1500, random);
  EXPECT_GT(comparison.num_incremental, comparison.num_runs * 3 / 4);
}

TEST_P(PlacetoIncrementalOfInception, EqualsFullRunsWhileDevicesFillAndEmpty) {
  RandomStream random(3);
  Comparison comparison(*problem_);
  gather(comparison, *problem_, random_placement(*problem_, random));
  EXPECT_GT(comparison.num_incremental, comparison.num_runs * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Groupings, PlacetoIncrementalOfInception,
                         ::testing::Values("neighbours", "colocation", "ungrouped"),
                         [](const auto& grouping) { return std::string(grouping.param); });

// NMT, whose chains of cells on one device overtake each other when a cell moves.
TEST(PlacetoIncremental, EqualsFullRunsWhereAMoveReordersMuch) {
  const Problem problem = on_four_k80s("nmt", "colocation");
  RandomStream random(8);
  Comparison comparison(problem);
  climb(comparison, problem, random_placement(problem, random), 300, random);
  climb(comparison, problem, in_parts(problem), 300, random);
  EXPECT_GT(comparison.num_incremental, comparison.num_runs / 2);
}

// A search that goes on from what is better, and now and then from what is worse, knows only of
// each step whether it is shorter than the one where it stands.
TEST(PlacetoIncremental, CutsOffTheStepsThatTakeTheCutoffOrLonger) {
  for (const char* const graph : {"inception-v3", "nmt"}) {
    const Problem problem = on_four_k80s(graph, "colocation");
    RandomStream random(9);
    Neighbourhood neighbourhood(problem);
    Simulator reference(problem);
    double reached_us = neighbourhood.start(in_parts(problem)).makespan_us;
    for (int round = 0; round < 600; ++round) {
      const Move move{test::random_group(problem, random), test::random_device(problem, random)};
      const SimResult& step = neighbourhood.try_moves({&move, 1}, reached_us);
      const SimResult& expected = reference.run(neighbourhood.tried());
      ASSERT_EQ(step.is_cut_off, expected.makespan_us >= reached_us);
      ASSERT_EQ(step.makespan_us, std::min(expected.makespan_us, reached_us));
      if (!step.is_cut_off) {
        ASSERT_TRUE(std::ranges::equal(step.start_us, expected.start_us));
        ASSERT_TRUE(std::ranges::equal(step.end_us, expected.end_us));
        ASSERT_TRUE(std::ranges::equal(step.peak_bytes, expected.peak_bytes));
      }
      // Now and then it goes on from what is worse, too.
      if (!step.is_cut_off || random.below(10) == 0) {
        neighbourhood.try_moves({&move, 1});
        neighbourhood.accept();
        reached_us = expected.makespan_us;
      }
    }
  }
}

// Problems full of coincidences: equal costs, costs of nothing with and without a launch, outputs
// without bytes, several outputs, control edges, and names in another order than the ops. `kind`
// picks how much of it.
Problem random_problem(RandomStream& random, int kind) {
  const auto num_ops = static_cast<OpId>(2 + random.below(60));
  auto graph = std::make_shared<OpGraph>();
  for (OpId op = 0; op < num_ops; ++op) {
    const bool is_nothing = kind == 0 || (kind < 3 && random.below(3) == 0);
    Op sketch;
    sketch.name = fmt::format("{:02}", (op * 37) % 61);
    sketch.kind = is_nothing && random.below(2) == 0 ? "variable" : "test";
    sketch.measured = {{"test", is_nothing  ? 0.0
                                : kind == 3 ? static_cast<double>(random.below(1000)) / 8
                                            : static_cast<double>(10 * random.below(3))}};
    sketch.persistent_bytes = static_cast<std::int64_t>(random.below(10));
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
      const std::uint64_t bytes = kind == 0 ? 0 : random.below(2) * 10 * random.below(9);
      sketch.outputs.push_back({.bytes = static_cast<std::int64_t>(bytes)});
    }
    boost::add_vertex(std::move(sketch), *graph);
    for (std::uint64_t left = op == 0 ? 0 : random.below(4); left > 0; --left) {
      const auto producer = static_cast<OpId>(random.below(static_cast<std::uint64_t>(op)));
      const auto num_outputs = (*graph)[producer].outputs.size();
      add_dependency(*graph, producer, static_cast<std::int32_t>(random.below(num_outputs + 1)) - 1,
                     op);
    }
  }
  Grouping grouping = random.below(2) == 0 ? ungrouped(*graph) : group_ops(*graph, num_ops / 3 + 1);
  return Problem(std::move(graph), std::move(grouping),
                 test::make_cluster({.num_devices = static_cast<DeviceId>(1 + random.below(6)),
                                     .bytes_per_us = 2,
                                     .gap_after_op_us = kind == 3 ? 5.7 : 10.0 * (kind % 2),
                                     .gap_after_transfer_us = kind == 3 ? 25.0 : 10.0 * (kind / 2),
                                     .with_slow_gpu = true}));
}

class PlacetoIncrementalOfCoincidences : public ::testing::TestWithParam<int> {};

TEST_P(PlacetoIncrementalOfCoincidences, EqualsFullRuns) {
  RandomStream random(static_cast<std::uint64_t>(GetParam()));
  int num_runs = 0;
  int num_incremental = 0;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    SCOPED_TRACE(fmt::format("problem {}", round));
    const Problem problem = random_problem(random, GetParam());
    Comparison comparison(problem);
    climb(comparison, problem, random_placement(problem, random), 30, random);
    wander(comparison, problem, random_placement(problem, random), 30, random);
    gather(comparison, problem, random_placement(problem, random));
    num_runs += comparison.num_runs;
    num_incremental += comparison.num_incremental;
  }
  EXPECT_GT(num_incremental, num_runs / 32);  // even where all is a tie
}

INSTANTIATE_TEST_SUITE_P(CostsAllZeroOrSomeOrFewOrMany, PlacetoIncrementalOfCoincidences,
                         ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace emplace::placeto_incremental_test

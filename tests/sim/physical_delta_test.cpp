// Is a replay of a few moved groups a full run to the last bit, in the `physical` and `grappler`
// models? Walks like those of searches, each step held against an engine that forgets.

#include "sim/src/physical_engine.hpp"
#include "support/machines.hpp"
#include "support/walks.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/agents/session.hpp>
#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace {
namespace {

using test::Coincidences;
using test::make_machine;
using test::make_problem;
using test::random_placement;
using ::testing::ElementsAre;

// Runs placements twice, as they come and from scratch, and compares all that a SimResult shows.
class Comparison {
 public:
  explicit Comparison(const Problem& problem, bool stop_when_out_of_memory = false)
      : engine_(problem, stop_when_out_of_memory), reference_(problem, stop_when_out_of_memory) {}

  double makespan_us(const Placement& placement) {
    engine_.run(placement);
    reference_.forget();
    reference_.run(placement);
    EXPECT_FALSE(reference_.was_replay());
    ++num_runs;
    num_replays += engine_.was_replay();
    EXPECT_EQ(engine_.makespan_us(), reference_.makespan_us());
    EXPECT_TRUE(std::ranges::equal(engine_.start_us(), reference_.start_us()));
    EXPECT_TRUE(std::ranges::equal(engine_.end_us(), reference_.end_us()));
    EXPECT_TRUE(std::ranges::equal(engine_.peak_bytes(), reference_.peak_bytes()));
    return engine_.makespan_us();
  }

  int num_runs = 0;
  int num_replays = 0;

 private:
  PhysicalEngine engine_;
  PhysicalEngine reference_;
};

TEST(PhysicalDelta, AMoveChangesWhatComesAfterItAndNothingElse) {
  // a(100) -> b(200), c(200) -> d(50) with 10 bytes, 1 byte/us after 5 us. With c elsewhere it
  // starts at 115 and ends at 315; d has c's output at 330 and ends at 380.
  const Problem problem = make_problem(
      test::diamond_graph(10),
      make_machine(2, test::mesh(2, {.bytes_per_us = 1, .latency_us = 5}), {.memory_bytes = 100}));
  PhysicalEngine engine(problem, false);
  engine.run(Placement(4));
  EXPECT_FALSE(engine.was_replay());
  EXPECT_THAT(engine.start_us(), ElementsAre(0, 100, 300, 500));
  EXPECT_THAT(engine.peak_bytes(), ElementsAre(30, 0));
  engine.run(Placement(std::vector<DeviceId>{0, 0, 1, 0}));
  EXPECT_TRUE(engine.was_replay());
  EXPECT_THAT(engine.start_us(), ElementsAre(0, 100, 115, 330));
  EXPECT_THAT(engine.end_us(), ElementsAre(100, 300, 315, 380));
  // On device 0 a's output and b's, then b's and the copy of c's; on device 1 the copy of a's and
  // c's own.
  EXPECT_THAT(engine.peak_bytes(), ElementsAre(20, 20));
  EXPECT_EQ(engine.makespan_us(), 380);
}

TEST(PhysicalDelta, ATransferThatMovesMakesRoomForAnother) {
  // x and y send 100 bytes each over one bus of 10 bytes/us, both from 10 to 30, at half of it
  // each. With y's consumer beside it x has the bus alone, until 20.
  const Problem problem =
      make_problem(test::make_graph({{.name = "x", .cost_us = 10, .output_bytes = 100},
                                     {.name = "y", .cost_us = 10, .output_bytes = 100},
                                     {.name = "of x", .cost_us = 1, .producers = {0}},
                                     {.name = "of y", .cost_us = 1, .producers = {1}}}),
                   make_machine(3, test::bus(3, {.bytes_per_us = 10})));
  PhysicalEngine engine(problem, false);
  engine.run(Placement(std::vector<DeviceId>{0, 1, 2, 2}));
  EXPECT_THAT(engine.start_us(), ElementsAre(0, 0, 30, 31));
  engine.run(Placement(std::vector<DeviceId>{0, 1, 2, 1}));
  EXPECT_TRUE(engine.was_replay());
  EXPECT_THAT(engine.start_us(), ElementsAre(0, 0, 20, 10));
}

TEST(PhysicalDelta, EndsOfOneInstantAreLeftToTheEngine) {
  // 0.1 + 0.2 is not 0.3 but of the same instant (rule 3): c waits for a and b, which end at 0.3
  // and at 0.30000000000000004 on two devices, and for what takes no time.
  const Problem problem =
      make_problem(test::make_graph({{.name = "a", .cost_us = 0.3},
                                     {.name = "b", .cost_us = 0.1},
                                     {.name = "then b", .cost_us = 0.2, .producers = {1}},
                                     {.name = "of a", .cost_us = 1, .producers = {0}}}),
                   make_machine(3, test::mesh(3, {.bytes_per_us = 10})));
  PhysicalEngine engine(problem, false);
  engine.run(Placement(std::vector<DeviceId>{0, 0, 0, 0}));
  engine.run(Placement(std::vector<DeviceId>{0, 1, 1, 0}));
  EXPECT_FALSE(engine.was_replay());
  EXPECT_EQ(engine.start_us()[3], 0.1 + 0.2);  // the end of the instant
}

TEST(PhysicalDelta, AStepThatIsStoppedIsNoReplay) {
  // 50 bytes fit, 60 do not: with all on one device, a's, b's and c's outputs are alive at 300.
  const Problem problem =
      make_problem(test::diamond_graph(20),
                   make_machine(2, test::mesh(2, {.bytes_per_us = 1}), {.memory_bytes = 50}));
  PhysicalEngine engine(problem, true);
  const Placement fits(std::vector<DeviceId>{0, 0, 1, 0});
  engine.run(fits);
  engine.run(fits);
  EXPECT_TRUE(engine.was_replay());
  engine.run(Placement(4));
  EXPECT_FALSE(engine.was_replay());
  EXPECT_EQ(engine.makespan_us(), 300);
  EXPECT_LT(engine.start_us()[3], 0);
  engine.run(fits);
  EXPECT_TRUE(engine.was_replay());
}

TEST(PhysicalDelta, CostsThatWereReplacedCount) {
  Problem problem = make_problem(test::fork_join_graph(20, 7),
                                 make_machine(2, test::mesh(2, {.bytes_per_us = 1})));
  RandomStream random(6);
  Comparison comparison(problem);
  const Placement placement = random_placement(problem, random);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> costs_us;
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      costs_us.push_back(static_cast<double>(1 + random.below(100)));
    }
    problem.replace_costs(0, costs_us);
    comparison.makespan_us(placement);
  }
}

// Inception-V3's training step, whose 192 variables are all ready at once, on links of all kinds.
class PhysicalDeltaOfInception : public ::testing::TestWithParam<std::string> {
 protected:
  PhysicalDeltaOfInception() {
    auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
    Grouping grouping = group_ops(*graph);
    problem_ = std::make_unique<Problem>(std::move(graph), std::move(grouping),
                                         std::make_shared<const Cluster>(load_cluster(GetParam())));
  }

  Placement place(const std::string& agent) const {
    agents::Session session(*problem_, {.max_evaluations = 1});
    return agents::AgentRegistry::global().make({.name = agent})->place(*problem_, session);
  }

  std::unique_ptr<Problem> problem_;
};

TEST_P(PhysicalDeltaOfInception, EqualsFullRunsOnClimbs) {
  RandomStream random(1);
  Comparison comparison(*problem_);
  test::climb(comparison, *problem_, random_placement(*problem_, random), 700, random);
  test::climb(comparison, *problem_, place("human-expert"), 300, random);
  test::climb(comparison, *problem_, place("heft"), 300, random);
  EXPECT_GT(comparison.num_replays, comparison.num_runs * 8 / 10);
}

TEST_P(PhysicalDeltaOfInception, EqualsFullRunsOnAWanderWithRestarts) {
  RandomStream random(2);
  Comparison comparison(*problem_);
  test::wander(comparison, *problem_, random_placement(*problem_, random), 1000, random);
  EXPECT_GT(comparison.num_replays, comparison.num_runs / 2);
}

TEST_P(PhysicalDeltaOfInception, EqualsFullRunsWhileDevicesFillAndEmpty) {
  RandomStream random(3);
  Comparison comparison(*problem_);
  test::gather(comparison, *problem_, random_placement(*problem_, random));
  EXPECT_GT(comparison.num_replays, comparison.num_runs / 2);
}

INSTANTIATE_TEST_SUITE_P(Clusters, PhysicalDeltaOfInception,
                         ::testing::Values("dgx-1-v100", "k80-pcie-8", "dgx-h100", "cpu-gpu",
                                           "mixed-v100-p100", "p2-8xlarge-4-grappler"));

// Random steps on random machines: all policies of links, latencies, launches, workspaces, control
// edges, outputs without bytes, little memory, and where there are many coincidences nearly
// everything at the same few instants.
class PhysicalDeltaOfRandomSteps : public ::testing::TestWithParam<std::tuple<Coincidences, bool>> {
};

Problem random_problem(RandomStream& random, Coincidences coincidences) {
  test::RandomStep step =
      test::draw_step([&](std::uint64_t n) { return random.below(n); }, coincidences, 60);
  Cluster cluster = *step.cluster;
  if (random.below(8) != 0) {  // else a full run, if there are slots or priorities
    cluster.queue_order = QueueOrder::kFifo;
    for (DeviceProfile& profile : cluster.profiles) {
      profile.slots = 1;
    }
  }
  if (random.below(6) == 0) {
    cluster.transfer_model = TransferModel::kGrappler;
    cluster.grappler = {.latency_us = static_cast<double>(random.below(3)), .bytes_per_us = 6};
  }
  Grouping grouping =
      random.below(2) == 0
          ? ungrouped(step.graph)
          : group_ops(step.graph, static_cast<GroupId>(1 + boost::num_vertices(step.graph) / 3));
  return Problem(std::make_shared<const OpGraph>(std::move(step.graph)), std::move(grouping),
                 std::make_shared<const Cluster>(std::move(cluster)));
}

TEST_P(PhysicalDeltaOfRandomSteps, EqualsFullRuns) {
  const auto [coincidences, stop_when_out_of_memory] = GetParam();
  RandomStream random(static_cast<std::uint64_t>(coincidences));
  int num_runs = 0;
  int num_replays = 0;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    SCOPED_TRACE(fmt::format("problem {}", round));
    const Problem problem = random_problem(random, coincidences);
    Comparison comparison(problem, stop_when_out_of_memory);
    test::climb(comparison, problem, random_placement(problem, random), 30, random);
    test::wander(comparison, problem, random_placement(problem, random), 30, random);
    test::gather(comparison, problem, random_placement(problem, random));
    num_runs += comparison.num_runs;
    num_replays += comparison.num_replays;
  }
  EXPECT_GT(num_replays, num_runs / (stop_when_out_of_memory ? 64 : 8));  // most are out of it
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutTiesAndStops, PhysicalDeltaOfRandomSteps,
                         ::testing::Combine(::testing::Values(Coincidences::kMany,
                                                              Coincidences::kNone),
                                            ::testing::Bool()));

}  // namespace
}  // namespace emplace

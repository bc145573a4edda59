#include "agents/src/learned_search/move_episode.hpp"

#include "agents/src/learned_search/trainer.hpp"
#include "agents/src/search/starts.hpp"
#include "support/problems.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <string>
#include <vector>

namespace emplace::agents::learned_search::move_episode_test {
namespace {

using Devices = std::vector<DeviceId>;

ValueNetwork<float> new_network(std::uint64_t seed) {
  ValueNetwork<float> network({.rounds = 2});
  RandomStream random(seed);
  network.initialize(random);
  return network;
}

// Runs an episode from everything on the first device.
void run_episode(Evaluator& evaluator, const ValueNetwork<float>& network,
                 const MoveOptions& options = {}, std::vector<Transitions>* transitions = nullptr,
                 std::int64_t length = 1000) {
  const MoveContext context(evaluator.problem(), options.levels);
  MoveEpisode(evaluator, context, network, options, Placement(evaluator.problem().num_groups()),
              length)
      .run(transitions);
}

TEST(MoveEpisode, FindsTheOptimumOfSmallProblems) {
  for (const Problem& problem : {test::make_problem(test::crossing_graph(), {.num_devices = 3}),
                                 test::make_problem(test::diamond_graph(50)),
                                 test::make_problem(test::fork_join_graph(6, 20))}) {
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 400}});
    run_episode(evaluator, new_network(1));
    EXPECT_EQ(evaluator.budget().evaluations(), 400);
    EXPECT_EQ(evaluator.incumbent().evaluation().step_time_us, test::optimum_us(problem));
  }
}

TEST(MoveEpisode, EndsAfterItsLength) {
  const Problem problem = test::make_problem(test::crossing_graph());
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 400}});
  run_episode(evaluator, new_network(1), {}, nullptr, 50);
  EXPECT_EQ(evaluator.budget().evaluations(), 50);
}

TEST(MoveEpisode, TellsWhatMovesGained) {
  const Problem problem = test::make_problem(test::crossing_graph());
  double mean_time_us = 0;
  for (GroupId group = 0; group < 7; ++group) {
    mean_time_us += problem.group_cost_us(group, 0) / 7;
  }
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 100}});
  std::vector<Transitions> transitions;
  run_episode(evaluator, new_network(1), {}, &transitions);
  ASSERT_FALSE(transitions.empty());
  std::size_t count = 0;
  Placement placement(7);
  Evaluator other(problem, {.budget = {.max_evaluations = 1000}});
  double before_us = other.evaluate(placement).step_time_us;
  for (const Transitions& here : transitions) {
    for (std::size_t move = 0; move < here.values.size(); ++move, ++count) {
      Placement moved = placement;
      for (const nn::SegmentSum::Entry entry : here.moves.groups.of_row(move)) {
        moved[entry.row] = here.moves.targets.of_row(move).front().row;
      }
      const double after_us = other.evaluate(moved).step_time_us;
      EXPECT_EQ(here.values[move], value_of_gain(before_us - after_us, mean_time_us));
      if (here.kept[move]) {
        placement = moved;
        before_us = after_us;
      }
    }
  }
  EXPECT_EQ(count, 99U);  // all but the start
}

TEST(MoveEpisode, MovesOneGroupAtATimeOnTheFinestLevel) {
  const Problem problem = test::make_problem(test::fork_join_graph(20, 20));
  const auto largest_move = [&problem](Levels levels) {
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 200}});
    std::vector<Transitions> transitions;
    run_episode(evaluator, new_network(1), {.levels = levels}, &transitions);
    std::size_t largest = 0;
    for (const Transitions& here : transitions) {
      for (std::size_t move = 0; move < here.moves.size(); ++move) {
        largest = std::max(largest, here.moves.groups.of_row(move).size());
      }
    }
    return largest;
  };
  EXPECT_EQ(largest_move(Levels::kFinest), 1U);
  EXPECT_GT(largest_move(Levels::kLearned), 1U);
  EXPECT_GT(largest_move(Levels::kRandom), 1U);
}

TEST(MoveEpisode, EndsWithAPolicyThatHasNoValues) {
  const Problem problem = test::make_problem(test::fork_join_graph(20, 20));
  ValueNetwork<float> network = new_network(1);
  for (float& weight : network.parameters().values()) {
    weight = weight < 0 ? -1e30F : 1e30F;
  }
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 300}});
  run_episode(evaluator, network);
  EXPECT_TRUE(evaluator.budget().exhausted());
}

TEST(MoveEpisode, LosesLittleByLosses) {
  EXPECT_EQ(value_of_gain(0, 10), 0);
  EXPECT_EQ(value_of_gain(30, 10), 2);
  EXPECT_EQ(value_of_gain(70, 10), 3);
  EXPECT_LT(value_of_gain(-70, 10), 0);
  EXPECT_GT(value_of_gain(-70, 10), -0.5F);
}

// Two groups of 600 MB each start on a device of 1 GB.
TEST(MoveEpisode, EndsWithWhatFits) {
  const Problem problem = test::make_problem(test::make_graph(
      {{.name = "a", .cost_us = 10, .persistent_bytes = 600'000'000},
       {.name = "b", .cost_us = 10, .producers = {0}, .persistent_bytes = 600'000'000}}));
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 30}});
  run_episode(evaluator, new_network(1));
  EXPECT_EQ(evaluator.incumbent().evaluation().status, EvaluationStatus::kOk);
}

// Trains on some problems; returns the network's parameters.
std::vector<float> trained(const std::vector<Problem>& problems, ValueNetwork<float>& network) {
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  std::vector<Evaluator*> views;
  for (const Problem& problem : problems) {
    evaluators.push_back(std::make_unique<Evaluator>(
        problem,
        Evaluator::Options{.seed = evaluators.size() + 1, .budget = {.max_evaluations = 600}}));
    views.push_back(evaluators.back().get());
  }
  Options options;
  options.learning.episode_length = 60;
  options.learning.workers = 3;
  options.moves.epsilon = 0.2;
  SearchTrainer(options, network, views).run({});
  for (const auto& evaluator : evaluators) {
    EXPECT_TRUE(evaluator->budget().exhausted());
  }
  return {network.parameters().values().begin(), network.parameters().values().end()};
}

// The mean squared error of the values of random moves.
double error_of(const ValueNetwork<float>& network, const Problem& problem) {
  Evaluator evaluator(problem, {.seed = 77, .budget = {.max_evaluations = 500}});
  std::vector<Transitions> transitions;
  run_episode(evaluator, network, {.epsilon = 1, .learning_rate = 0}, &transitions);
  const GroupNeighbours neighbours(problem);
  double sum = 0;
  double count = 0;
  for (const Transitions& here : transitions) {
    nn::Tape<float> tape(network.parameters());
    const nn::Value embeddings = network.embeddings(tape, neighbours, here.attributes);
    const nn::Value pools = network.pools(tape, embeddings, here.on_device);
    const nn::MatrixView<float> values =
        tape.value(network.values(tape, network.descriptions(tape, embeddings, pools, here.moves)));
    for (std::size_t move = 0; move < here.values.size(); ++move) {
      const double error = values(move, 0) - here.values[move];
      sum += error * error;
      count += 1;
    }
  }
  return sum / count;
}

std::vector<Problem> small_problems() {
  std::vector<Problem> problems;
  problems.push_back(test::make_problem(test::crossing_graph(), {.num_devices = 3}));
  problems.push_back(test::make_problem(test::fork_join_graph(8, 20), {.num_devices = 3}));
  problems.push_back(test::make_problem(test::diamond_graph(20)));
  return problems;
}

TEST(SearchTrainer, LearnsWhatMovesGain) {
  const std::vector<Problem> problems = small_problems();
  ValueNetwork<float> network = new_network(1);
  const Problem unseen = test::make_problem(test::fork_join_graph(12, 30), {.num_devices = 4});
  const double before = error_of(network, unseen);  // of values that are all 0
  trained(problems, network);
  EXPECT_LT(error_of(network, unseen), 0.75 * before);
}

TEST(SearchTrainer, LearnsTheSameBitsOnOneAndTwoThreads) {
  const std::vector<Problem> problems = small_problems();
  const auto on_threads = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    ValueNetwork<float> network = new_network(1);
    return trained(problems, network);
  };
  EXPECT_EQ(on_threads(1), on_threads(2));
}

TEST(SearchTrainer, RefusesAnOrderThatNamesAProblemTwice) {
  const std::vector<Problem> problems = small_problems();
  Evaluator first(problems[0], {});
  Evaluator second(problems[1], {});
  Evaluator* const evaluators[] = {&first, &second};
  ValueNetwork<float> network = new_network(1);
  SearchTrainer trainer({}, network, evaluators);
  const std::string good = trainer.to_json();
  trainer.load(JsonDocument::parse(good, "training").root());
  const std::size_t order = good.find("\"order\": [");
  ASSERT_NE(order, std::string::npos);
  const std::size_t begin = good.find('[', order);
  std::string bad = good;
  bad.replace(begin, good.find(']', begin) + 1 - begin, "[1, 1]");
  EXPECT_THROW(trainer.load(JsonDocument::parse(bad, "training").root()), Error);
}

TEST(Starts, OfLevelsAddTheLevels) {
  const Problem problem = test::make_problem(test::fork_join_graph(100, 50), {.num_devices = 4});
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 100}});
  const std::vector<Evaluated> without = evaluated_starts(problem, evaluator);
  Evaluator other(problem, {.seed = 1, .budget = {.max_evaluations = 100}});
  const std::vector<Evaluated> with = evaluated_starts_of_levels(Coarsening(problem), other);
  EXPECT_GT(other.budget().evaluations(), evaluator.budget().evaluations());
  EXPECT_FALSE(without.front().evaluation.better_than(with.front().evaluation));
  for (std::size_t i = 1; i < with.size(); ++i) {
    EXPECT_FALSE(with[i].evaluation.better_than(with[i - 1].evaluation));
  }
}

}  // namespace
}  // namespace emplace::agents::learned_search::move_episode_test

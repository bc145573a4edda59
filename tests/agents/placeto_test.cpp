#include "agents/trainings.hpp"

#include <emplace/base/json_cursor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace emplace::agents::placeto_test {
namespace {

// And one whose devices are not alike.
std::vector<NamedProblem> tiny() {
  std::vector<NamedProblem> problems = solvable_problems();
  problems.push_back(
      {"unlike devices",
       test::make_problem(test::crossing_graph(), {.num_devices = 1, .with_slow_gpu = true})});
  return problems;
}

TEST(Placeto, FindsTheOptimumOfSmallProblems) {
  for (const NamedProblem& named : tiny()) {
    const double best_us = test::optimum_us(named.problem);
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE(testing::Message() << named.name << ", seed " << seed);
      Evaluator evaluator(named.problem, {.seed = seed, .budget = {.max_evaluations = 1000}});
      // With an update after each episode: 1000 evaluations are few for four workers.
      make("placeto:preset=released,workers=1,greedy-first=false")->place(named.problem, evaluator);
      EXPECT_DOUBLE_EQ(evaluator.incumbent().evaluation().step_time_us, best_us);
    }
  }
}

TEST(PlacetoPaper, FindsTheOptimumOfSmallProblems) {
  for (const NamedProblem& named : tiny()) {
    const double best_us = test::optimum_us(named.problem);
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
      SCOPED_TRACE(testing::Message() << named.name << ", seed " << seed);
      Evaluator evaluator(named.problem, {.seed = seed, .budget = {.max_evaluations = 1000}});
      make("placeto:preset=paper,start=random-each-episode")->place(named.problem, evaluator);
      EXPECT_DOUBLE_EQ(evaluator.incumbent().evaluation().step_time_us, best_us);
    }
  }
}

// Trained on two devices, alike and unlike, used on three: better than as many random placements as
// its episode simulates.
TEST(PlacetoPaper, PlacesOnOtherDevicesThanItWasTrainedFor) {
  const Problem alike = test::make_problem(test::crossing_graph());
  const Problem unlike =
      test::make_problem(test::crossing_graph(), {.num_devices = 1, .with_slow_gpu = true});
  Evaluator first(alike, {.seed = 1, .budget = {.max_evaluations = 2000}});
  Evaluator second(unlike, {.seed = 2, .budget = {.max_evaluations = 2000}});
  Evaluator* const evaluators[] = {&first, &second};
  const auto agent = make("placeto:preset=paper,start=random-each-episode,stay-bias=1");
  trainable(*agent).train(evaluators, {});
  for (const test::ClusterSketch& sketch :
       {test::ClusterSketch{.num_devices = 3},
        test::ClusterSketch{.num_devices = 2, .with_slow_gpu = true}}) {
    const Problem problem = test::make_problem(test::crossing_graph(), sketch);
    double placed_us = 0;
    double random_us = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Evaluator evaluator(problem, {.seed = seed, .budget = {.max_evaluations = 100}});
      trainable(*agent).place_with_policy(problem, evaluator);
      placed_us += evaluator.incumbent().evaluation().step_time_us;
      Evaluator as_many(
          problem, {.seed = seed, .budget = {.max_evaluations = evaluator.budget().evaluations()}});
      make("random")->place(problem, as_many);
      random_us += as_many.incumbent().evaluation().step_time_us;
    }
    EXPECT_LT(placed_us, 0.95 * random_us) << sketch.num_devices;
  }
}

// For few episodes: an update after each, and an entropy weight that falls.
constexpr const char* kShortTraining = "placeto:preset=released,workers=1,entropy-decay=linear,";

// Tests the policy instead of the best placement of its training: one greedy episode from another
// start.
double greedy_us(const Problem& problem, const std::string& spec, std::uint64_t seed,
                 std::int64_t budget) {
  Evaluator training(problem, {.seed = seed, .budget = {.max_evaluations = budget}});
  const auto trained = make(kShortTraining + spec);
  Evaluator* const evaluators[] = {&training};
  trainable(*trained).train(evaluators, {});
  const auto loaded = make(kShortTraining + spec);
  trainable(*loaded).load(JsonDocument::parse(trainable(*trained).save(), "policy.json").root());
  Evaluator evaluator(
      problem, {.seed = seed + 100, .budget = {.max_evaluations = problem.num_groups() + 1}});
  trainable(*loaded).place_with_policy(problem, evaluator);
  return evaluator.incumbent().evaluation().step_time_us;
}

TEST(Placeto, LearnsAGreedyPolicyForSmallProblems) {
  for (const NamedProblem& named : tiny()) {
    if (std::string(named.name) == "diamond") {
      continue;  // its policies sometimes stay in a local optimum
    }
    SCOPED_TRACE(named.name);
    EXPECT_LE(greedy_us(named.problem, "time-unit=work,entropy-weight=0.1", 1, 6000),
              1.1 * test::optimum_us(named.problem));
  }
}

TEST(Placeto, LearnsTheSameBitsOnOneAndTwoThreads) {
  const Problem problem = test::make_problem(test::fork_join_graph(40, 20), {.num_devices = 3});
  const Problem other = test::make_problem(test::crossing_graph(), {.num_devices = 3});
  for (const char* spec : {"placeto:preset=released,workers=3", "placeto:preset=paper,workers=2"}) {
    const auto policy = [&](std::size_t threads) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
      const auto agent = make(spec);
      Evaluator one(problem, {.seed = 4, .budget = {.max_evaluations = 6 * 43}});
      Evaluator two(other, {.seed = 5, .budget = {.max_evaluations = 6 * 43}});
      Evaluator* const evaluators[] = {&one, &two};
      trainable(*agent).train(evaluators, {});
      return trainable(*agent).save();
    };
    const std::string alone = policy(1);
    EXPECT_EQ(policy(2), alone);
    EXPECT_EQ(policy(1), alone);
  }
}

TEST(Placeto, TrainsOnSeveralProblemsInTurn) {
  const Problem one = test::make_problem(test::fork_join_graph(4, 20));
  const Problem other = test::make_problem(test::crossing_graph());
  Evaluator first(one, {.seed = 1, .budget = {.max_evaluations = 70}});
  Evaluator second(other, {.seed = 2, .budget = {.max_evaluations = 160}});
  Evaluator* const evaluators[] = {&first, &second};
  const auto agent = make("placeto:preset=released,workers=3");
  trainable(*agent).train(evaluators, {});
  EXPECT_EQ(first.budget().evaluations(), 70);
  EXPECT_EQ(second.budget().evaluations(), 160);
}

TEST(Placeto, LeavesAPolicyAsItIsWhenItPlacesWithIt) {
  const Problem problem = test::make_problem(test::crossing_graph());
  Evaluator training(problem, {.seed = 1, .budget = {.max_evaluations = 80}});
  const auto agent = make("placeto:preset=released");
  agent->place(problem, training);
  const std::string policy = trainable(*agent).save();
  Evaluator evaluator(problem, {.seed = 2, .budget = {.max_evaluations = 80}});
  trainable(*agent).place_with_policy(problem, evaluator);
  EXPECT_EQ(trainable(*agent).save(), policy);
  EXPECT_EQ(evaluator.budget().evaluations(),
            trainable(*agent).evaluations_per_episode(problem.num_groups()));
}

// 40 evaluations are 5 episodes of a start and 7 groups.
TEST(Placeto, ReportsEachUpdate) {
  const Problem problem = test::make_problem(test::crossing_graph());
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 40}});
  Evaluator* const evaluators[] = {&evaluator};
  std::vector<TrainingUpdate> updates;
  const auto agent = make(
      "placeto:preset=released,workers=1,greedy-first=false,learning-rate=0,learning-rate-end=0");
  trainable(*agent).train(evaluators, [&](const TrainingUpdate& update) {
    updates.push_back(update);
    EXPECT_EQ(evaluator.budget().evaluations(), 8 * update.episodes);
    EXPECT_EQ(update.best_us, evaluator.incumbent().evaluation().objective_us());
    return true;
  });
  ASSERT_EQ(updates.size(), 5U);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    EXPECT_EQ(updates[i].update, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(updates[i].episodes, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(updates[i].problem, 0U);
    EXPECT_TRUE(updates[i].is_last);
    EXPECT_GE(updates[i].last_us, updates[i].best_us);
    EXPECT_GT(updates[i].entropy, 0);
    EXPECT_LE(updates[i].entropy, std::log(2.0));
    EXPECT_GT(updates[i].gradient_norm, 0);
  }
}

// Two workers, three episodes' worth of evaluations: the first two are greedy, and the policy
// learns from the third alone.
TEST(Placeto, BeginsWithGreedyEpisodesIfItIsToldTo) {
  const Problem problem = test::make_problem(test::crossing_graph());
  for (const bool greedy_first : {false, true}) {
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 3 * 8}});
    Evaluator* const evaluators[] = {&evaluator};
    std::vector<std::int64_t> episodes;
    const auto agent = make(std::string("placeto:preset=released,workers=2,greedy-first=") +
                            (greedy_first ? "true" : "false"));
    trainable(*agent).train(evaluators, [&](const TrainingUpdate& update) {
      episodes.push_back(update.episodes);
      return true;
    });
    EXPECT_EQ(episodes,
              greedy_first ? std::vector<std::int64_t>{3} : (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(evaluator.budget().evaluations(), 3 * 8);
  }
}

TEST(Placeto, EachOf999RoundsIsGreedy) {
  const Problem problem = test::make_problem(test::diamond_graph(30));
  Evaluator evaluator(
      problem, {.seed = 1, .budget = {.max_evaluations = 1000 * (problem.num_groups() + 1)}});
  Evaluator* const evaluators[] = {&evaluator};
  const auto agent =
      make("placeto:preset=released,rounds=0,pooling=all,workers=1,greedy-first=false");
  std::int64_t episodes = 0;
  trainable(*agent).train(evaluators, [&](const TrainingUpdate& update) {
    episodes += update.update < 999 ? 1 : 2;
    EXPECT_EQ(update.episodes, episodes);
    return true;
  });
  EXPECT_EQ(episodes, 1000);
}

TEST(Placeto, StopsWhenTheCallbackReturnsFalse) {
  const Problem one = test::make_problem(test::fork_join_graph(4, 20));
  const Problem other = test::make_problem(test::crossing_graph());
  Evaluator first(one, {.seed = 1, .budget = {.max_evaluations = 700}});
  Evaluator second(other, {.seed = 2, .budget = {.max_evaluations = 700}});
  Evaluator* const evaluators[] = {&first, &second};
  const auto agent = make("placeto:preset=released,workers=2,greedy-first=false");
  std::vector<std::size_t> reported;
  trainable(*agent).train(evaluators, [&](const TrainingUpdate& update) {
    reported.push_back(update.problem);
    EXPECT_EQ(update.is_last, update.problem == 1);
    return update.update < 3 || update.problem == 1;  // the first call of the third says no
  });
  EXPECT_THAT(reported, testing::ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_EQ(first.budget().evaluations(), 3 * 7);
  EXPECT_EQ(second.budget().evaluations(), 3 * 8);
}

TEST(Placeto, ResumesWithTheSameBits) {
  for (const char* spec : {"placeto:preset=released,workers=2,start=best,baseline-episodes=3",
                           "placeto:preset=released,order=random,entropy-decay=linear"}) {
    expect_same_bits_after_interruptions(spec);
  }
}

TEST(Placeto, RefusesAPolicyThatDoesNotFit) {
  const Problem problem = test::make_problem(test::crossing_graph());
  Evaluator evaluator(problem, {.budget = {.max_evaluations = 8}});
  const auto agent = make("placeto:preset=released");
  agent->place(problem, evaluator);
  const std::string policy = trainable(*agent).save();
  EXPECT_EQ(load_mistake("placeto:preset=released", policy), "none");
  EXPECT_EQ(load_mistake("placeto:preset=released,rounds=4", policy),
            "policy.json: /network/rounds: the policy was trained with rounds=8, not rounds=4");

  const Problem wider = test::make_problem(test::crossing_graph(), {.num_devices = 4});
  Evaluator on_wider(wider, {.budget = {.max_evaluations = 8}});
  EXPECT_EQ(test::error_of([&] { agent->place(wider, on_wider); }),
            "a policy of placeto for 2 devices cannot place test on the 4 of test");
}

TEST(Placeto, ListsItsLayers) {
  std::int64_t weights = 0;
  const auto agent = make("placeto:preset=released");
  for (const PolicyLayer& layer : trainable(*agent).layers(2)) {
    weights += layer.weights();
  }
  EXPECT_EQ(weights, 15'962);
}

}  // namespace
}  // namespace emplace::agents::placeto_test

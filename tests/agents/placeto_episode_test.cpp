#include "agents/src/placeto/episode.hpp"
#include "agents/src/placeto/options.hpp"
#include "support/errors.hpp"
#include "support/problems.hpp"

#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace emplace::agents::placeto::placeto_episode_test {
namespace {

Options options(const std::string& given) {
  const Spec spec = Spec::parse(given.empty() ? "placeto" : "placeto:" + given);
  return option_table().read(resolve_params(option_table().parameters(), spec, "agent placeto"));
}

// One round of episodes on a fork and join of 8 groups.
struct Collected {
  explicit Collected(const std::string& given, std::size_t workers = 1, bool greedy = false,
                     std::int64_t budget = 1000)
      : given_options(options(given)),
        evaluator(problem, {.seed = 3, .budget = {.max_evaluations = budget}}),
        environment(evaluator, given_options),
        network(given_options.network, 2),
        collector(network) {
    RandomStream random(1);
    network.parameters().initialize(random);
    is_complete = collector.collect(environment, workers, greedy);
  }

  // Returns the placement before a decision.
  Placement placement(std::size_t decision) const {
    const auto& devices = environment.rollout.observation(decision).devices;
    return Placement(std::vector<DeviceId>(devices.begin(), devices.end()));
  }

  Problem problem = test::make_problem(test::fork_join_graph(6, 20));
  Options given_options;
  Evaluator evaluator;
  Environment environment;
  PolicyNetwork<float> network;
  RolloutCollector collector;
  bool is_complete = false;
};

TEST(PlacetoEpisode, TakesOneEvaluationMoreThanThereAreGroups) {
  for (const std::size_t workers : {1U, 2U, 3U, 8U}) {
    const Collected collected("", workers);
    EXPECT_TRUE(collected.is_complete);
    EXPECT_EQ(collected.evaluator.budget().evaluations(),
              static_cast<std::int64_t>(workers) * (8 + 1));
    EXPECT_EQ(collected.environment.rollout.num_decisions(), workers * 8);
  }
  EXPECT_EQ(Collected("reward=terminal").evaluator.budget().evaluations(), 1);
}

// Against the same episodes, in which every placement is simulated.
TEST(PlacetoEpisode, SkipsUnchangedPlacements) {
  for (const std::size_t workers : {1U, 3U}) {
    const Collected all("stay-bias=1", workers);
    const Collected changed("stay-bias=1,skip-unchanged=true", workers);
    ASSERT_TRUE(changed.is_complete);
    EXPECT_THAT(changed.environment.rollout.times(),
                testing::ElementsAreArray(all.environment.rollout.times()));
    auto simulations = static_cast<std::int64_t>(workers);
    for (std::size_t i = 0; i < workers * 8; ++i) {
      const Observation observation = all.environment.rollout.observation(i);
      const auto current = static_cast<std::size_t>(observation.current);
      simulations += observation.devices[current] != all.environment.rollout.actions()[i] ? 1 : 0;
    }
    EXPECT_EQ(changed.evaluator.budget().evaluations(), simulations);
    EXPECT_LT(simulations, all.evaluator.budget().evaluations());
  }
}

TEST(PlacetoEpisode, VisitsEveryGroupOnceAndMovesOnlyThat) {
  for (const char* order : {"topological", "reverse", "random"}) {
    const Collected collected(std::string("order=") + order);
    std::vector<GroupId> visited;
    for (std::size_t step = 0; step < 8; ++step) {
      const Observation observation = collected.environment.rollout.observation(step);
      for (GroupId group = 0; group < 8; ++group) {
        const bool was_visited = std::ranges::find(visited, group) != visited.end();
        EXPECT_EQ(observation.visits[static_cast<std::size_t>(group)], was_visited ? 1 : 0);
      }
      visited.push_back(observation.current);
      if (step + 1 < 8) {
        Placement expected = collected.placement(step);
        expected[observation.current] = collected.environment.rollout.actions()[step];
        EXPECT_EQ(collected.placement(step + 1), expected);
      }
    }
    std::vector<GroupId> sorted = visited;
    std::ranges::sort(sorted);
    EXPECT_THAT(sorted, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(visited == sorted, std::string(order) == "topological");
    EXPECT_EQ(visited.front() == 7 && visited.back() == 0, std::string(order) == "reverse");
  }
}

TEST(PlacetoEpisode, TimesAreThoseOfTheSimulator) {
  const Collected collected("", 2);
  Simulator simulator(collected.problem);
  for (std::size_t i = 0; i < 16; ++i) {
    const SimResult& step = simulator.run(collected.placement(i));
    EXPECT_DOUBLE_EQ(collected.environment.rollout.times()[i], step.makespan_us / 1e6);
    // Start times are relative to the current group's and normalized by the largest.
    const Observation observation = collected.environment.rollout.observation(i);
    const double current_us = step.start_us[static_cast<std::size_t>(observation.current)];
    const double last_us = *std::ranges::max_element(step.start_us);
    for (std::size_t group = 0; group < 8; ++group) {
      const double scale = last_us > current_us ? last_us - current_us : 1;
      EXPECT_FLOAT_EQ(observation.start_times[group],
                      static_cast<float>((step.start_us[group] - current_us) / scale));
    }
  }
}

TEST(PlacetoEpisode, ReturnsTelescope) {
  const Collected collected("", 2);
  const std::span<const double> times = collected.environment.rollout.times();
  const std::vector<double> returns =
      collected.environment.rollout.returns(collected.given_options.episode);
  for (const std::size_t worker : {0U, 1U}) {
    for (std::size_t step = 0; step < 8; ++step) {
      EXPECT_NEAR(returns[step * 2 + worker], times[step * 2 + worker] - times[8 * 2 + worker],
                  1e-15);
    }
  }
}

TEST(PlacetoEpisode, OtherRewardsCountTheLastTimeOrTheNextOne) {
  const Collected terminal("reward=terminal");
  const double last = terminal.environment.rollout.times().back();
  EXPECT_GT(last, 0);
  EXPECT_THAT(terminal.environment.rollout.returns(terminal.given_options.episode),
              testing::Each(-last));

  const Collected discounted("discount=0");
  const std::span<const double> t = discounted.environment.rollout.times();
  const auto r = discounted.environment.rollout.returns(discounted.given_options.episode);
  EXPECT_EQ(r[2], t[2] - t[3]);
}

TEST(PlacetoEpisode, RewardsOfTheMinimumCountTheLeastTimeToCome) {
  const Collected collected("reward=minimum", 2);
  const std::span<const double> times = collected.environment.rollout.times();
  const std::vector<double> returns =
      collected.environment.rollout.returns(collected.given_options.episode);
  for (const std::size_t worker : {0U, 1U}) {
    for (std::size_t step = 0; step < 8; ++step) {
      double least = times[(step + 1) * 2 + worker];
      for (std::size_t later = step + 2; later <= 8; ++later) {
        least = std::min(least, times[later * 2 + worker]);
      }
      EXPECT_EQ(returns[step * 2 + worker], times[step * 2 + worker] - least);
    }
  }
}

TEST(PlacetoEpisode, StartsAtThePlacementOfItsOption) {
  const Placement fixed = Collected("").placement(0);
  EXPECT_EQ(Collected("start=one-device").placement(0), Placement(8, 0));
  EXPECT_NE(fixed, Placement(8, 0));
  Collected each("start=random-each-episode");
  const Placement first = each.placement(0);
  ASSERT_TRUE(each.collector.collect(each.environment, 1, false));
  EXPECT_NE(each.placement(0), first);
  Collected best("start=best");
  ASSERT_TRUE(best.collector.collect(best.environment, 1, false));
  EXPECT_NE(best.placement(0), Placement(8, 0));
  EXPECT_NE(Collected("start=best").placement(0), Placement(8, 0));  // there is no best yet
  // Each worker has drawn a start of its own, once.
  Collected two("workers=2", 2);
  EXPECT_EQ(two.placement(0), fixed);
  const Placement second = two.placement(1);
  EXPECT_NE(second, fixed);
  ASSERT_TRUE(two.collector.collect(two.environment, 2, false));
  EXPECT_EQ(two.placement(0), fixed);
  EXPECT_EQ(two.placement(1), second);
  Collected random("start=random");
  ASSERT_TRUE(random.collector.collect(random.environment, 1, false));
  EXPECT_EQ(random.placement(0), fixed);
}

TEST(PlacetoEpisode, AGreedyOneTakesTheMostProbableDevices) {
  const Collected one("", 1, true);
  const Collected two("", 2, true);  // sampled actions would differ
  for (std::size_t step = 0; step < 8; ++step) {
    EXPECT_EQ(one.environment.rollout.actions()[step], two.environment.rollout.actions()[step * 2]);
    EXPECT_EQ(one.environment.rollout.actions()[step],
              two.environment.rollout.actions()[step * 2 + 1]);
  }
}

// Start times of each step take memory that grows with the square of groups.
TEST(PlacetoEpisode, RefusesMoreGroupsThanItHasMemoryFor) {
  const Problem problem =
      test::make_problem(test::chain_graph(std::vector<double>(80'000, 1.0), 1));
  Evaluator evaluator(problem, {.budget = {.max_evaluations = 2}});
  EXPECT_EQ(test::error_of(ErrorCode::kUnsupported,
                           [&] { const Environment environment(evaluator, options("")); }),
            "placeto on 80000 groups would take 25.6 GB of memory; its limit of 16 GB allows "
            "63245 groups here: give --groups N, or reward=terminal");
  EXPECT_FALSE(Environment(evaluator, options("reward=terminal")).keeps_start_times);
}

TEST(PlacetoEpisode, EndsWithTheBudget) {
  const Collected collected("", 1, false, 5);
  EXPECT_FALSE(collected.is_complete);
  EXPECT_EQ(collected.evaluator.budget().evaluations(), 5);
}

// A peak of 4 GB on the fuller device.
TEST(PlacetoEpisode, AddsThePenaltyForMemoryAndCapsTheTime) {
  const StepOutline outline{{}, {1'000'000'000, 4'000'000'000}};
  const auto time = [&](const std::string& given, double step_us) {
    return Collected(given).environment.time_of({EvaluationStatus::kOk, step_us, 0}, outline);
  };
  EXPECT_DOUBLE_EQ(time("", 3e6), 3 + 2 * 3);  // a test device has 1 GB
  EXPECT_DOUBLE_EQ(time("memory-limit=3.5", 3e6), 3 + 2 * 0.5);
  EXPECT_DOUBLE_EQ(time("memory-limit=5", 3e6), 3);
  EXPECT_DOUBLE_EQ(time("", 5e6), 10);
  EXPECT_DOUBLE_EQ(time("memory-limit=5,time-unit=work", 2480), 2480.0 / 620);
}

}  // namespace
}  // namespace emplace::agents::placeto::placeto_episode_test

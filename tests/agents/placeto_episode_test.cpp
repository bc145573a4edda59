#include "agents/src/learned/placeto_episode.hpp"

#include "agents/src/learned/placeto_options.hpp"
#include "support/problems.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace emplace::agents::placeto {
namespace {

Options options(const std::string& given) {
  const Spec spec = Spec::parse(given.empty() ? "placeto" : "placeto:" + given);
  return options_of(resolve_params(parameter_table(), spec, "agent placeto"));
}

// One round of episodes on a fork and join of 8 groups.
struct Played {
  explicit Played(const std::string& given, std::size_t workers = 1, bool greedy = false,
                  std::int64_t budget = 1000)
      : given_options(options(given)),
        session(problem, {.seed = 3, .max_evaluations = budget}),
        course(session, given_options),
        network(given_options.network, 2),
        player(network) {
    RandomStream random(1);
    network.parameters().initialize(random);
    is_whole = player.play(course, workers, greedy);
  }

  // Returns the placement before a decision.
  Placement placement(std::size_t decision) const {
    const std::span<const std::int32_t> devices = course.rollout.decision(decision).devices;
    return Placement(std::vector<DeviceId>(devices.begin(), devices.end()));
  }

  Problem problem = test::make_problem(test::fork_join_graph(6, 20));
  Options given_options;
  Session session;
  Course course;
  Network<float> network;
  Player player;
  bool is_whole = false;
};

TEST(PlacetoEpisode, TakesOneEvaluationMoreThanThereAreGroups) {
  for (const std::size_t workers : {1U, 2U, 3U, 8U}) {
    const Played played("", workers);
    EXPECT_TRUE(played.is_whole);
    EXPECT_EQ(played.session.evaluations(), static_cast<std::int64_t>(workers) * (8 + 1));
    EXPECT_EQ(played.course.rollout.num_decisions(), workers * 8);
  }
  EXPECT_EQ(Played("reward=terminal").session.evaluations(), 1);
}

TEST(PlacetoEpisode, VisitsEveryGroupOnceInEachSweep) {
  const Played played("sweeps=3");
  EXPECT_EQ(played.session.evaluations(), 3 * 8 + 1);
  const Rollout& rollout = played.course.rollout;
  ASSERT_EQ(rollout.num_decisions(), 24U);
  for (std::size_t step = 0; step < 24; ++step) {
    const Decision decision = rollout.decision(step);
    EXPECT_EQ(decision.current, rollout.decision(step % 8).current);
    EXPECT_EQ(decision.done[static_cast<std::size_t>(decision.current)], step / 8);
  }
  const auto returns = rollout.returns(played.given_options.episode);
  EXPECT_NEAR(returns.front(), rollout.times().front() - rollout.times().back(), 1e-12);
}

// Against the same episodes, in which every placement is simulated.
TEST(PlacetoEpisode, DoesNotSimulateAgainWhatDidNotChange) {
  for (const std::size_t workers : {1U, 3U}) {
    const Played all("stay=1", workers);
    const Played changed("stay=1,reuse=true", workers);
    ASSERT_TRUE(changed.is_whole);
    EXPECT_THAT(changed.course.rollout.times(),
                testing::ElementsAreArray(all.course.rollout.times()));
    auto simulations = static_cast<std::int64_t>(workers);
    for (std::size_t i = 0; i < workers * 8; ++i) {
      const Decision decision = all.course.rollout.decision(i);
      const auto current = static_cast<std::size_t>(decision.current);
      simulations += decision.devices[current] != all.course.rollout.actions()[i] ? 1 : 0;
    }
    EXPECT_EQ(changed.session.evaluations(), simulations);
    EXPECT_LT(simulations, all.session.evaluations());
  }
}

// Against the simulator, group after group on each device.
TEST(PlacetoEpisode, KnowsWhatEveryDeviceWouldGain) {
  for (const std::size_t workers : {1U, 3U}) {
    const Played played("all-devices=true,sweeps=2,discount=0.5", workers);
    ASSERT_TRUE(played.is_whole);
    EXPECT_EQ(played.session.evaluations(), static_cast<std::int64_t>(workers * (2 * 8 + 1)));
    EXPECT_EQ(played.session.evaluations(),
              static_cast<std::int64_t>(workers) * played.course.evaluations_per_episode());
    const Rollout& rollout = played.course.rollout;
    const std::vector<float> gains = rollout.gains();
    ASSERT_EQ(gains.size(), 2 * rollout.num_decisions());
    Simulator simulator(played.problem);
    for (std::size_t i = 0; i < rollout.num_decisions(); ++i) {
      const double before_us = simulator.run(played.placement(i)).makespan_us;
      EXPECT_DOUBLE_EQ(rollout.times()[i], before_us / 1e6);
      for (DeviceId device = 0; device < 2; ++device) {
        Placement moved = played.placement(i);
        moved[rollout.decision(i).current] = device;
        const double after_us = simulator.run(moved).makespan_us;
        EXPECT_FLOAT_EQ(gains[2 * i + static_cast<std::size_t>(device)],
                        static_cast<float>((before_us - after_us) / 1e6));
      }
    }
    // What is gained at once and what is gained later are told apart.
    const std::vector<double> later = rollout.returns(played.given_options.episode);
    const Played other("sweeps=2,discount=0.5", workers);
    const std::vector<double> all = other.course.rollout.returns(other.given_options.episode);
    for (std::size_t i = 0; i < rollout.num_decisions(); ++i) {
      const auto chosen = static_cast<std::size_t>(rollout.actions()[i]);
      EXPECT_NEAR(static_cast<double>(gains[2 * i + chosen]) + later[i], all[i], 1e-9);
    }
  }
}

TEST(PlacetoEpisode, GreedyOnesSimulateOnlyTheDeviceThatTheyChoose) {
  const Played played("all-devices=true", 1, true);
  EXPECT_EQ(played.session.evaluations(), 8 + 1);
  EXPECT_TRUE(played.course.rollout.gains().empty());
}

TEST(PlacetoEpisode, SimulatesAllDevicesOnlyWhereEachStepHasAReward) {
  for (const std::string reward : {"reward=terminal", "reward=minimum"}) {
    const Played played("all-devices=true," + reward);
    const Played other(reward);
    EXPECT_EQ(played.session.evaluations(), other.session.evaluations());
    EXPECT_EQ(played.session.evaluations(), played.course.evaluations_per_episode());
    EXPECT_TRUE(played.course.rollout.gains().empty());
  }
}

TEST(PlacetoEpisode, VisitsEveryGroupOnceAndMovesOnlyThat) {
  for (const char* order : {"topological", "reverse", "random"}) {
    const Played played(std::string("order=") + order);
    std::vector<GroupId> visited;
    for (std::size_t step = 0; step < 8; ++step) {
      const Decision decision = played.course.rollout.decision(step);
      for (GroupId group = 0; group < 8; ++group) {
        const bool was_visited = std::ranges::find(visited, group) != visited.end();
        EXPECT_EQ(decision.done[static_cast<std::size_t>(group)], was_visited ? 1 : 0);
      }
      visited.push_back(decision.current);
      if (step + 1 < 8) {
        Placement expected = played.placement(step);
        expected[decision.current] = played.course.rollout.actions()[step];
        EXPECT_EQ(played.placement(step + 1), expected);
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
  const Played played("", 2);
  Simulator simulator(played.problem);
  for (std::size_t i = 0; i < 16; ++i) {
    const SimResult& step = simulator.run(played.placement(i));
    EXPECT_DOUBLE_EQ(played.course.rollout.times()[i], step.makespan_us / 1e6);
    // Starts count from the current group's on, over the latest.
    const Decision decision = played.course.rollout.decision(i);
    const double current_us = step.start_us[static_cast<std::size_t>(decision.current)];
    const double last_us = *std::ranges::max_element(step.start_us);
    for (std::size_t group = 0; group < 8; ++group) {
      const double scale = last_us > current_us ? last_us - current_us : 1;
      EXPECT_FLOAT_EQ(decision.starts[group],
                      static_cast<float>((step.start_us[group] - current_us) / scale));
    }
  }
}

TEST(PlacetoEpisode, ReturnsTelescope) {
  const Played played("", 2);
  const std::span<const double> times = played.course.rollout.times();
  const std::vector<double> returns = played.course.rollout.returns(played.given_options.episode);
  for (const std::size_t worker : {0U, 1U}) {
    for (std::size_t step = 0; step < 8; ++step) {
      EXPECT_NEAR(returns[step * 2 + worker], times[step * 2 + worker] - times[8 * 2 + worker],
                  1e-15);
    }
  }
}

TEST(PlacetoEpisode, OtherRewardsCountTheLastTimeOrTheBestThatFollows) {
  const Played minimum("reward=minimum");
  const std::span<const double> times = minimum.course.rollout.times();
  const std::vector<double> gains = minimum.course.rollout.returns(minimum.given_options.episode);
  for (std::size_t step = 0; step < 8; ++step) {
    EXPECT_EQ(gains[step],
              times[step] - *std::min_element(times.begin() + static_cast<std::ptrdiff_t>(step) + 1,
                                              times.end()));
  }
  const Played terminal("reward=terminal");
  const double last = terminal.course.rollout.times().back();
  EXPECT_GT(last, 0);
  EXPECT_THAT(terminal.course.rollout.returns(terminal.given_options.episode),
              testing::Each(-last));

  const Played discounted("discount=0");
  const std::span<const double> t = discounted.course.rollout.times();
  const auto r = discounted.course.rollout.returns(discounted.given_options.episode);
  EXPECT_EQ(r[2], t[2] - t[3]);
}

TEST(PlacetoEpisode, StartsWhereItIsTold) {
  const Placement fixed = Played("").placement(0);
  EXPECT_EQ(Played("start=one-device").placement(0), Placement(8, 0));
  EXPECT_NE(fixed, Placement(8, 0));
  Played each("start=each-episode");
  const Placement first = each.placement(0);
  ASSERT_TRUE(each.player.play(each.course, 1, false));
  EXPECT_NE(each.placement(0), first);
  Played best("start=best");
  ASSERT_TRUE(best.player.play(best.course, 1, false));
  EXPECT_NE(best.placement(0), Placement(8, 0));
  EXPECT_NE(Played("start=best").placement(0), Placement(8, 0));  // nothing is best yet
  Played fresh("start=best,fresh=1");
  const Placement best_before = *fresh.session.best_placement();
  ASSERT_TRUE(fresh.player.play(fresh.course, 1, false));
  EXPECT_NE(fresh.placement(0), best_before);
  const Placement best_now = *fresh.session.best_placement();
  ASSERT_TRUE(fresh.player.play(fresh.course, 1, true));
  EXPECT_EQ(fresh.placement(0), best_now);  // a greedy one is not fresh
  Played random("start=random");
  ASSERT_TRUE(random.player.play(random.course, 1, false));
  EXPECT_EQ(random.placement(0), fixed);
}

// A chain is best left on one device, and many branches are not.
TEST(PlacetoEpisode, StartsAtTheBetterOfOneDeviceAndARandomPlacement) {
  const Options better = options("start=better");
  const Problem chain = test::make_problem(test::chain_graph({10, 10, 10, 10, 10, 10}, 1'000));
  Session on_chain(chain, {});
  EXPECT_EQ(Course(on_chain, better).next_start(false), Placement(6, 0));
  const Problem branches = test::make_problem(test::fork_join_graph(16, 1), {.num_devices = 4});
  Session on_branches(branches, {});
  const Placement start = Course(on_branches, better).next_start(true);
  EXPECT_NE(start, Placement(18, 0));
  EXPECT_EQ(start, on_branches.best_placement());
  const Played played("start=better");
  EXPECT_EQ(played.session.evaluations(), 2 + 8 + 1);
  EXPECT_EQ(played.session.evaluations(), played.course.evaluations_per_episode());
  const Played terminal("start=better,reward=terminal");
  EXPECT_EQ(terminal.session.evaluations(), 2 + 1);
  EXPECT_EQ(terminal.session.evaluations(), terminal.course.evaluations_per_episode());
}

TEST(PlacetoEpisode, AGreedyOneTakesTheLikeliestDevices) {
  const Played one("", 1, true);
  const Played two("", 2, true);  // other numbers would be drawn
  for (std::size_t step = 0; step < 8; ++step) {
    EXPECT_EQ(one.course.rollout.actions()[step], two.course.rollout.actions()[step * 2]);
    EXPECT_EQ(one.course.rollout.actions()[step], two.course.rollout.actions()[step * 2 + 1]);
  }
}

// A policy that always stays, and a coin for each choice: of 8 x 8 choices half are expected to be
// moves; fewer than 16 or more than 48 have a probability below 10^-4.
TEST(PlacetoEpisode, DrawsAShareOfItsChoicesEvenly) {
  const Played stays("stay=100", 8);
  const Played strays("stay=100,epsilon=1", 8);
  const auto moves = [](const Played& played) {
    int count = 0;
    for (std::size_t i = 0; i < played.course.rollout.num_decisions(); ++i) {
      const Decision decision = played.course.rollout.decision(i);
      const auto current = static_cast<std::size_t>(decision.current);
      count += decision.devices[current] != played.course.rollout.actions()[i] ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(moves(stays), 0);
  EXPECT_THAT(moves(strays), testing::AllOf(testing::Ge(16), testing::Le(48)));
}

TEST(PlacetoEpisode, EndsWithTheBudget) {
  const Played played("", 1, false, 5);
  EXPECT_FALSE(played.is_whole);
  EXPECT_EQ(played.session.evaluations(), 5);
}

// 3 s and a peak of 4 GB on the fuller device.
TEST(PlacetoEpisode, CountsThePenaltyForMemoryAndTheCap) {
  const Evaluation evaluation{EvaluationStatus::kOk, 3e6, 0};
  const StepOutline outline{{}, {1'000'000'000, 4'000'000'000}};
  const auto time = [&](const std::string& given) {
    return Played(given).course.time_of(evaluation, outline);
  };
  EXPECT_DOUBLE_EQ(time(""), 3 + 2 * 3);  // a test device has 1 GB
  EXPECT_DOUBLE_EQ(time("memory-limit=3.5"), 3 + 2 * 0.5);
  EXPECT_DOUBLE_EQ(time("memory-penalty=0"), 3);
  EXPECT_DOUBLE_EQ(time("memory-penalty=100"), 10);
  EXPECT_DOUBLE_EQ(time("cap=4"), 4);
  EXPECT_DOUBLE_EQ(time("log-time=true,memory-penalty=0"), std::log(3.0));
  EXPECT_DOUBLE_EQ(time("unit=work,memory-penalty=0,cap=1000000"), 3e6 / 620);
}

// Two workers, two steps, a mean over two episodes.
TEST(PlacetoEpisode, ABaselineIsTheMeanOfTheLastEpisodesStepByStep) {
  StepBaseline baseline(2);
  std::vector<double> first = {1, 3, 10, 20};
  baseline.subtract_from(first, 2);
  EXPECT_THAT(first, testing::ElementsAre(-1, 1, -5, 5));
  std::vector<double> second = {6, 6, 35, 35};
  baseline.subtract_from(second, 2);
  EXPECT_THAT(second, testing::ElementsAre(2, 2, 10, 10));  // off (2 + 6) / 2 and (15 + 35) / 2
  std::vector<double> third = {0, 0, 0, 0};
  baseline.subtract_from(third, 2);
  EXPECT_THAT(third, testing::ElementsAre(-3, -3, -17.5, -17.5));  // the first is forgotten
  StepBaseline none(0);
  none.subtract_from(second, 2);
  EXPECT_THAT(second, testing::ElementsAre(2, 2, 10, 10));
}

}  // namespace
}  // namespace emplace::agents::placeto

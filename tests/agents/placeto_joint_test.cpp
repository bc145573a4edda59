#include "agents/placing.hpp"
#include "support/problems.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <string>
#include <vector>

namespace emplace::agents {
namespace {

// Two chains of three that meet at the end; what the first ops of each hand on is large, and one
// more op reads the second chain from the side.
OpGraph two_ways() {
  return test::make_graph({{.name = "a1", .cost_us = 40, .output_bytes = 300},
                           {.name = "a2", .cost_us = 60, .output_bytes = 300, .producers = {0}},
                           {.name = "a3", .cost_us = 80, .output_bytes = 10, .producers = {1}},
                           {.name = "b1", .cost_us = 70, .output_bytes = 300},
                           {.name = "b2", .cost_us = 50, .output_bytes = 300, .producers = {3}},
                           {.name = "b3", .cost_us = 60, .output_bytes = 10, .producers = {4}},
                           {.name = "side", .cost_us = 30, .output_bytes = 10, .producers = {4}},
                           {.name = "end", .cost_us = 20, .producers = {2, 5, 6}}});
}

// With three groups the fixed grouping cannot have the best placement; three others can, and the
// agent finds them.
TEST(PlacetoJoint, FindsTheOptimumThatAFixedGroupingExcludes) {
  const Problem fine = test::make_problem(two_ways());
  const double best_us = test::optimum_us(fine);
  const Problem fixed(std::make_shared<const OpGraph>(two_ways()), group_ops(two_ways(), 3),
                      test::make_cluster({}));
  ASSERT_EQ(fixed.num_groups(), 3);
  EXPECT_GT(test::optimum_us(fixed), 1.05 * best_us);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Session session(fine, {.seed = seed, .max_evaluations = 1000});
    make("placeto-joint:merged-groups=3")->place(fine, session);
    EXPECT_DOUBLE_EQ(session.best_evaluation().step_time_us, best_us) << "seed " << seed;
  }
}

TEST(PlacetoJoint, TakesOneEvaluationMoreThanThereAreMergedGroups) {
  const Problem problem = test::make_problem(test::fork_join_graph(20, 20));
  const auto agent = make("placeto-joint:merged-groups=5,workers=2,skip-unchanged=false");
  EXPECT_EQ(trainable(*agent).evaluations_per_episode(problem), 6);
  Session session(problem, {.seed = 1, .max_evaluations = 60});
  Session* const sessions[] = {&session};
  std::int64_t updates = 0;
  trainable(*agent).train(sessions, [&](const TrainingUpdate& update) {
    ++updates;
    EXPECT_EQ(update.episodes, 2 * updates);
    EXPECT_EQ(session.evaluations(), 12 * updates);
    return true;
  });
  EXPECT_EQ(updates, 5);
}

TEST(PlacetoJoint, LearnsTheSameBitsOnOneAndTwoThreads) {
  const Problem problem = test::make_problem(test::fork_join_graph(40, 20), {.num_devices = 3});
  const auto policy = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    const auto agent = make("placeto-joint:workers=3,merged-groups=10");
    Session session(problem, {.seed = 4, .max_evaluations = 300});
    agent->place(problem, session);
    return trainable(*agent).save();
  };
  const std::string alone = policy(1);
  EXPECT_EQ(policy(2), alone);
  EXPECT_EQ(policy(1), alone);
}

// As in the conformance suite, whose problems are too small for a merging with the default
// `groups`.
TEST(PlacetoJoint, ResumesWithTheSameBits) {
  const Problem one = test::make_problem(two_ways());
  const Problem other = test::make_problem(test::fork_join_graph(12, 20));
  std::vector<Session::State> states;
  std::string training;
  const auto policy = [&](bool resumes) {
    const auto agent = make("placeto-joint:merged-groups=3,order=random,start=best");
    Session on_one(one, {.seed = 1, .max_evaluations = 80});
    Session on_other(other, {.seed = 2, .max_evaluations = 80});
    Session* const sessions[] = {&on_one, &on_other};
    if (resumes) {
      on_one.restore(states[0]);
      on_other.restore(states[1]);
      trainable(*agent).load_training(JsonDocument::parse(training, "training.json").root());
    }
    trainable(*agent).train(sessions, [&](const TrainingUpdate& update) {
      if (!resumes && update.update == 7) {
        states = {on_one.state(), on_other.state()};
        training = trainable(*agent).save_training();
      }
      return true;
    });
    return trainable(*agent).save();
  };
  const std::string whole = policy(false);
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(policy(true), whole);

  // One of the baselines is gone.
  const std::size_t draws = training.find("\"draws\": [") + 10;
  training.replace(draws, training.find("], [", draws) + 3 - draws, "");
  try {
    policy(true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "training.json: /training/grouper/draws: expected 2 problems, found 1");
  }
}

TEST(PlacetoJoint, UsesItsPolicyOnAnotherGraph) {
  const Problem one = test::make_problem(test::fork_join_graph(12, 20));
  const Problem other = test::make_problem(two_ways());
  Session training(one, {.seed = 1, .max_evaluations = 300});
  const auto trained = make("placeto-joint:merged-groups=4");
  trained->place(one, training);
  const auto loaded = make("placeto-joint:merged-groups=4");
  trainable(*loaded).load(JsonDocument::parse(trainable(*trained).save(), "policy.json").root());
  Session session(other, {.seed = 2, .max_evaluations = 100});
  EXPECT_EQ(trainable(*loaded).place_with_policy(other, session).size(), 8);
  EXPECT_LE(session.evaluations(), 5);
  EXPECT_EQ(trainable(*loaded).save(), trainable(*trained).save());
}

std::string load_mistake(const std::string& spec, const std::string& text) {
  try {
    trainable(*make(spec)).load(JsonDocument::parse(text, "policy.json").root());
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(PlacetoJoint, RefusesAPolicyThatDoesNotFit) {
  const Problem problem = test::make_problem(two_ways());
  const auto policy_of = [&](const char* spec) {
    const auto agent = make(spec);
    Session session(problem, {.max_evaluations = 8});
    agent->place(problem, session);
    return trainable(*agent).save();
  };
  const std::string policy = policy_of("placeto-joint");
  EXPECT_EQ(load_mistake("placeto-joint:merged-groups=7", policy), "none");
  EXPECT_EQ(load_mistake("placeto", policy), "policy.json: /agent: expected 'placeto'");
  EXPECT_EQ(load_mistake("placeto-joint", policy_of("placeto")),
            "policy.json: /agent: expected 'placeto-joint'");
  std::string cut = policy;
  cut.replace(cut.find("grouper/forward/update"), 22, "grouper/forward/upward");
  EXPECT_THAT(load_mistake("placeto-joint", cut), testing::StartsWith("policy.json: /grouper"));
}

// The placer's, and the grouper's 3 -> 8 -> 8, two of 8 -> 8 in each direction, and 37 -> 16 -> 1.
TEST(PlacetoJoint, ListsTheLayersOfBothNetworks) {
  const auto weights = [](const char* spec) {
    std::int64_t sum = 0;
    const auto agent = make(spec);
    for (const PolicyLayer& layer : trainable(*agent).layers(2)) {
      sum += layer.weights();
    }
    return sum;
  };
  EXPECT_EQ(weights("placeto-joint"),
            weights("placeto-plus") + 4 * 8 + 9 * 8 + 4 * 9 * 8 + 38 * 16 + 17);
}

}  // namespace
}  // namespace emplace::agents

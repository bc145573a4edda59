#pragma once

// Trainings on small problems: with and without an interruption, and what becomes of a policy that
// does not fit.

#include "agents/placing.hpp"
#include "support/errors.hpp"
#include "support/problems.hpp"

#include <emplace/base/json_cursor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace emplace::agents {

/// Holds a problem that an agent solves within 1000 evaluations.
struct NamedProblem {
  const char* name;
  Problem problem;
};

/// Returns such problems, on two devices.
inline std::vector<NamedProblem> solvable_problems() {
  std::vector<NamedProblem> problems;
  problems.push_back({"diamond", test::make_problem(test::diamond_graph(30))});
  problems.push_back({"crossing", test::make_problem(test::crossing_graph())});
  problems.push_back({"fork and join", test::make_problem(test::fork_join_graph(6, 20))});
  problems.push_back({"costly links", test::make_problem(test::fork_join_graph(5, 2000))});
  return problems;
}

/// Returns the error of loading the policy `text`, or "none".
inline std::string load_mistake(const std::string& spec, const std::string& text) {
  return test::error_of(
      [&] { trainable(*make(spec)).load(JsonDocument::parse(text, "policy.json").root()); });
}

/// Trains what `make` makes on two problems to the end, then goes on to it from a checkpoint after
/// the second update. Expects the same policy and the same end of the first evaluator.
template <class Make>
void expect_resumes_from_checkpoints(const Make& make, const Problem& first,
                                     const Problem& second) {
  const auto any = make();
  const std::int64_t budget =
      std::max<std::int64_t>(100, 3 * trainable(*any).evaluations_per_episode(first.num_groups()));
  std::vector<Evaluator::State> states;
  std::string training;
  Evaluator::State end;
  const auto policy = [&](bool resumes) {
    const auto agent = make();
    Evaluator on_first(first, {.seed = 1, .budget = {.max_evaluations = budget}});
    Evaluator on_second(second, {.seed = 2, .budget = {.max_evaluations = budget}});
    Evaluator* const evaluators[] = {&on_first, &on_second};
    if (resumes) {
      on_first.restore(states[0]);
      on_second.restore(states[1]);
      trainable(*agent).load_training(JsonDocument::parse(training, "training").root());
    }
    trainable(*agent).train(evaluators, [&](const TrainingUpdate& update) {
      if (!resumes && update.update == 2 && update.is_last) {
        states = {on_first.state(), on_second.state()};
        training = trainable(*agent).save_training();
      }
      return true;
    });
    EXPECT_NE(trainable(*agent).save_training(), "");  // asks for the evaluators of the training
    end = on_first.state();
    return trainable(*agent).save();
  };
  const std::string whole = policy(false);
  const Evaluator::State expected = end;
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(policy(true), whole);
  EXPECT_EQ(end.best_placement, expected.best_placement);
  EXPECT_EQ(end.evaluations_to_best, expected.evaluations_to_best);
  EXPECT_EQ(end.random, expected.random);
}

/// Holds the state after a training: the policy, the checkpoint and the evaluators.
struct Left {
  std::string policy{};
  std::string training{};
  std::vector<Evaluator::State> evaluators{};
  std::vector<TrainingUpdate> updates{};
};

/// Trains on three problems until after `updates`, from the start or from a checkpoint.
inline Left train_until(const std::string& spec, std::int64_t updates, const Left* from) {
  const std::vector<NamedProblem> problems = solvable_problems();
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  std::vector<Evaluator*> pointers;
  const auto agent = make(spec);
  for (std::size_t i = 0; i < 3; ++i) {
    evaluators.push_back(std::make_unique<Evaluator>(
        problems[i].problem, Evaluator::Options{.seed = i, .budget = {.max_evaluations = 100}}));
    pointers.push_back(evaluators.back().get());
    if (from != nullptr) {
      evaluators.back()->restore(from->evaluators[i]);
    }
  }
  if (from != nullptr) {
    trainable(*agent).load_training(JsonDocument::parse(from->training, "training").root());
  }
  Left left;
  trainable(*agent).train(pointers, [&](const TrainingUpdate& update) {
    left.updates.push_back(update);
    return update.update < updates;
  });
  left.policy = trainable(*agent).save();
  left.training = trainable(*agent).save_training();
  for (const Evaluator* evaluator : pointers) {
    left.evaluators.push_back(evaluator->state());
  }
  return left;
}

/// Expects a training that ends after 1, 3, 4 and all but one of its updates, and is resumed, to
/// have the same updates and to end with the same bits as a whole one, its budget spent.
inline void expect_same_bits_after_interruptions(const std::string& spec) {
  const Left whole = train_until(spec, 1'000'000, nullptr);
  const std::int64_t updates = whole.updates.back().update;
  ASSERT_GT(updates, 10);
  for (const std::int64_t cut : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4}, updates - 1}) {
    SCOPED_TRACE(testing::Message() << spec << ", cut after " << cut);
    const Left first = train_until(spec, cut, nullptr);
    const Left second = train_until(spec, 1'000'000, &first);
    EXPECT_EQ(second.policy, whole.policy);
    EXPECT_EQ(second.training, whole.training);
    ASSERT_EQ(first.updates.size() + second.updates.size(), whole.updates.size());
    for (std::size_t i = 0; i < second.updates.size(); ++i) {
      const TrainingUpdate& expected = whole.updates[first.updates.size() + i];
      EXPECT_EQ(second.updates[i].update, expected.update);
      EXPECT_EQ(second.updates[i].episodes, expected.episodes);
      EXPECT_EQ(second.updates[i].problem, expected.problem);
      EXPECT_EQ(second.updates[i].last_us, expected.last_us);
      EXPECT_EQ(second.updates[i].best_us, expected.best_us);
      EXPECT_EQ(second.updates[i].entropy, expected.entropy);
      EXPECT_EQ(second.updates[i].gradient_norm, expected.gradient_norm);
    }
    for (std::size_t i = 0; i < whole.evaluators.size(); ++i) {
      EXPECT_EQ(second.evaluators[i].random, whole.evaluators[i].random);
      EXPECT_EQ(second.evaluators[i].evaluations, 100);
      EXPECT_EQ(whole.evaluators[i].evaluations, 100);
      EXPECT_EQ(second.evaluators[i].evaluations_to_best, whole.evaluators[i].evaluations_to_best);
      EXPECT_EQ(second.evaluators[i].best_placement, whole.evaluators[i].best_placement);
    }
  }
}

}  // namespace emplace::agents

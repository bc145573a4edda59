// What every agent must do, whatever it is: each test runs once for each registered agent, so a new
// agent is tested by being registered. The programs of examples/exec are tested, too.

#include "agents/trainings.hpp"
#include "support/source_path.hpp"
#include "support/test_names.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/agent_spec.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::conformance_test {
namespace {

OpGraph two_chains() {
  return test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 5},
                           {.name = "b", .cost_us = 20, .producers = {0}},
                           {.name = "c", .cost_us = 30, .output_bytes = 5},
                           {.name = "d", .cost_us = 40, .producers = {2}},
                           {.name = "alone", .cost_us = 15}},
                          "disconnected");
}

std::vector<NamedProblem> tiny_problems() {
  std::vector<NamedProblem> problems;
  problems.push_back({"one op", test::make_problem(test::chain_graph({10}, 0))});
  problems.push_back(
      {"one device", test::make_problem(test::diamond_graph(50), {.num_devices = 1})});
  problems.push_back({"chain", test::make_problem(test::chain_graph({10, 20, 30, 40}, 5))});
  problems.push_back(
      {"fork and join", test::make_problem(test::fork_join_graph(6, 20), {.num_devices = 4})});
  problems.push_back({"disconnected", test::make_problem(two_chains())});
  problems.push_back(
      {"heterogeneous with a CPU", test::make_problem(test::fork_join_graph(6, 20),
                                                      {.with_cpu = true, .with_slow_gpu = true})});
  return problems;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  const AgentInfo& info() const { return AgentSpec(GetParam()).info(); }

  // Makes the agent, with small LSTMs, whose size matters only for the time of the tests.
  std::unique_ptr<Agent> make(std::vector<std::pair<std::string, std::string>> given = {}) const {
    const bool is_recurrent = std::ranges::any_of(
        info().parameters, [](const ParamSpec& parameter) { return parameter.name == "hidden"; });
    if (is_recurrent && (given.empty() || given.front().first != "hidden")) {
      given.emplace_back("hidden", "8");
    }
    Spec spec = AgentSpec(GetParam()).spec();
    std::ranges::move(given, std::back_inserter(spec.given));
    return AgentRegistry::global().make(spec);
  }

  Placement place(const Problem& problem, const Evaluator::Options& options) const {
    Evaluator evaluator(problem, options);
    Placement placement = make()->place(problem, evaluator);
    EXPECT_LE(evaluator.budget().evaluations(), options.budget.max_evaluations);
    return placement;
  }

  // Checks that every group is on a device on which this agent may put it.
  void expect_valid(const Problem& problem, const Placement& placement) const {
    ASSERT_EQ(placement.size(), problem.num_groups());
    for (const DeviceId device : placement.devices()) {
      ASSERT_GE(device, 0);
      ASSERT_LT(device, problem.num_devices());
      if (info().respects_placeable) {
        EXPECT_THAT(problem.placeable_devices(), testing::Contains(device));
      }
    }
  }
};

// For those that call themselves so.
class DeterministicConformance : public Conformance {};
class TrainableConformance : public Conformance {};

TEST_P(Conformance, DescribesItself) {
  EXPECT_THAT(info().name, testing::MatchesRegex("[a-z0-9]+(-[a-z0-9]+)*"));
  EXPECT_FALSE(info().summary.empty());
  EXPECT_GT(info().description.size(), 80U);
  EXPECT_EQ(info().description.back(), '.');
  EXPECT_FALSE(info().reference.empty());
  for (const ParamSpec& parameter : info().parameters) {
    EXPECT_THAT(parameter.name, testing::MatchesRegex("[a-z0-9]+(-[a-z0-9]+)*"));
    EXPECT_FALSE(parameter.summary.empty()) << parameter.name;
  }
  EXPECT_LE(std::ranges::count(info().parameters, false, &ParamSpec::expert), 15)
      << "parameters that most users need; make the others expert ones";
}

TEST_P(Conformance, PlacesEveryGroupOnAnAllowedDevice) {
  for (const auto& [name, problem] : tiny_problems()) {
    SCOPED_TRACE(name);
    expect_valid(problem, place(problem, {.budget = {.max_evaluations = 100}}));
  }
}

// The harness moves what an agent put elsewhere; what was simulated kept the constraints already.
TEST_P(Conformance, KeepsConstraintsInAllThatItSimulates) {
  auto cluster =
      std::make_shared<Cluster>(*test::make_cluster({.num_devices = 3, .with_cpu = true}));
  cluster->pins = {{.pattern = "a", .device = "cpu:0"}, {.pattern = "c", .device = "gpu:2"}};
  cluster->together = {"[bd]"};
  const Problem problem(std::make_shared<const OpGraph>(two_chains()), Grouping({0, 1, 2, 3, 4}),
                        cluster);
  Evaluator evaluator(
      problem,
      {.seed = 5, .budget = {.max_evaluations = 100}, .any_device = !info().respects_placeable});
  Placement placement = make()->place(problem, evaluator);
  problem.constrain(placement);
  std::vector<Placement> placements{placement};
  if (const auto& best = evaluator.incumbent().placement()) {
    placements.push_back(*best);
  }
  for (const Placement& found : placements) {
    EXPECT_EQ(found[0], 3);
    EXPECT_EQ(found[2], 2);
    EXPECT_EQ(found[1], found[3]);
  }
}

TEST_P(Conformance, GivesTheSamePlacementForTheSameSeedOnAnyNumberOfThreads) {
  for (const auto& [name, problem] : tiny_problems()) {
    SCOPED_TRACE(name);
    const Evaluator::Options options{.seed = 7, .budget = {.max_evaluations = 600}};
    const auto on_threads = [&, &problem = problem](std::size_t threads) {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
      return place(problem, options);
    };
    const Placement alone = on_threads(1);
    EXPECT_EQ(on_threads(4), alone);
  }
}

TEST_P(Conformance, PlacesWithAnyBudgetAndKeepsIt) {
  for (const auto& [name, problem] : tiny_problems()) {
    for (const std::int64_t budget : {0, 1, 2, 7, 300}) {
      SCOPED_TRACE(testing::Message() << name << ", budget " << budget);
      expect_valid(problem, place(problem, {.seed = 3, .budget = {.max_evaluations = budget}}));
    }
  }
}

TEST_P(Conformance, PlacesWhatFitsNowhereAndTheSimulatorSaysSo) {
  const Problem problem =
      test::make_problem(test::fork_join_graph(6, 2000), {.num_devices = 2, .memory_bytes = 1000});
  const Placement placement = place(problem, {.budget = {.max_evaluations = 100}});
  expect_valid(problem, placement);
  EXPECT_EQ(Simulator(problem).run(placement).status, StepStatus::kOutOfMemory);
}

TEST_P(Conformance, IsNeverFasterThanTheLowerBound) {
  for (const auto& [name, problem] : tiny_problems()) {
    SCOPED_TRACE(name);
    const Placement placement = place(problem, {.budget = {.max_evaluations = 300}});
    EXPECT_GE(Simulator(problem).run(placement).makespan_us * (1 + 1e-9),
              lower_bounds(problem).best_us());
  }
}

TEST_P(Conformance, CanBeTrainedIfItCallsItselfTrainable) {
  EXPECT_EQ(dynamic_cast<TrainableAgent*>(make().get()) != nullptr, info().trainable);
}

TEST_P(DeterministicConformance, IgnoresSeedAndBudget) {
  for (const auto& [name, problem] : tiny_problems()) {
    SCOPED_TRACE(name);
    EXPECT_EQ(place(problem, {.seed = 1, .budget = {.max_evaluations = 10}}),
              place(problem, {.seed = 2, .budget = {.max_evaluations = 200}}));
  }
}

TEST_P(Conformance, ReturnsTheBestThatItSimulated) {
  for (const auto& [name, problem] : tiny_problems()) {
    SCOPED_TRACE(name);
    Evaluator evaluator(problem, {.seed = 5, .budget = {.max_evaluations = 200}});
    const Placement placement = make()->place(problem, evaluator);
    if (evaluator.incumbent().placement()) {
      Evaluator again(problem, {.budget = {.max_evaluations = 1}});
      EXPECT_FALSE(evaluator.incumbent().evaluation().better_than(again.evaluate(placement)));
    }
  }
}

// Returns the texts of the extreme values that a parameter may have.
std::vector<std::string> extremes(const ParamSpec& parameter) {
  if (std::holds_alternative<bool>(parameter.default_value)) {
    return {"false", "true"};
  }
  if (std::holds_alternative<std::string>(parameter.default_value)) {
    return parameter.choices;
  }
  if (std::holds_alternative<std::int64_t>(parameter.default_value)) {
    return {emplace::to_string(ParamValue(static_cast<std::int64_t>(parameter.min))),
            emplace::to_string(ParamValue(static_cast<std::int64_t>(parameter.max)))};
  }
  return {emplace::to_string(ParamValue(parameter.min)),
          emplace::to_string(ParamValue(parameter.max))};
}

TEST_P(Conformance, WorksWithEachParameterAtItsBounds) {
  for (const ParamSpec& parameter : info().parameters) {
    for (const std::string& value : extremes(parameter)) {
      SCOPED_TRACE(parameter.name + "=" + value);
      for (const auto& [name, problem] : tiny_problems()) {
        SCOPED_TRACE(name);
        std::unique_ptr<Agent> agent;
        try {
          agent = make({{parameter.name, value}});
        } catch (const Error& error) {
          // An agent may refuse what would have no effect together with its other parameters.
          EXPECT_EQ(error.code(), ErrorCode::kUsage);
          EXPECT_THAT(error.what(), testing::HasSubstr("has no effect with"));
          continue;
        }
        Evaluator evaluator(
            problem, {.budget = {.max_evaluations = 30}});  // some episodes of learning agents
        try {
          expect_valid(problem, agent->place(problem, evaluator));
        } catch (const Error& error) {
          // On a busy machine, a program may take longer than the least limit of time.
          EXPECT_THAT(parameter.name, testing::AnyOf("time-limit", "start-limit"));
          EXPECT_THAT(error.what(), testing::HasSubstr(" within 1 s"));
        }
      }
    }
  }
}

TEST_P(Conformance, PlacesAtOnceWhenStopped) {
  const std::atomic<bool> stop = true;
  for (const auto& [name, problem] : tiny_problems()) {
    SCOPED_TRACE(name);
    Evaluator evaluator(problem, {.budget = {.max_evaluations = 1'000'000'000, .stop = &stop}});
    expect_valid(problem, make()->place(problem, evaluator));
    EXPECT_EQ(evaluator.budget().evaluations(), 0);
  }
}

TEST_P(TrainableConformance, TrainsWithinItsBudgetsAndLoadsWhatItSaved) {
  const auto agent = make();
  auto& trainable = dynamic_cast<TrainableAgent&>(*agent);
  const Problem small = test::make_problem(test::diamond_graph(50));
  const Problem large = test::make_problem(test::fork_join_graph(6, 20));
  Evaluator on_small(small, {.seed = 1, .budget = {.max_evaluations = 30}});
  Evaluator on_large(large, {.seed = 2, .budget = {.max_evaluations = 50}});
  Evaluator* const evaluators[] = {&on_small, &on_large};
  std::int64_t updates = 0;
  trainable.train(evaluators, [&](const TrainingUpdate& update) {
    EXPECT_EQ(update.update, updates + 1);
    updates += update.is_last ? 1 : 0;
    EXPECT_LT(update.problem, 2U);
    return true;
  });
  EXPECT_GT(updates, 0);
  EXPECT_LE(on_small.budget().evaluations(), 30);
  EXPECT_LE(on_large.budget().evaluations(), 50);

  const std::string policy = trainable.save();
  const auto other = make();
  dynamic_cast<TrainableAgent&>(*other).load(JsonDocument::parse(policy, "policy").root());
  EXPECT_EQ(dynamic_cast<TrainableAgent&>(*other).save(), policy);
  Evaluator evaluator(large, {.seed = 3, .budget = {.max_evaluations = 40}});
  expect_valid(large, other->place(large, evaluator));
}

// One device, or one group.
TEST_P(TrainableConformance, EndsItsTrainingWhereThereIsLittleToLearn) {
  const Problem one_device = test::make_problem(test::diamond_graph(50), {.num_devices = 1});
  const Problem one_group = test::make_problem(test::chain_graph({10}, 0));
  for (const Problem* const problem : {&one_device, &one_group}) {
    SCOPED_TRACE(problem->num_groups());
    const auto agent = make();
    auto& trainable = dynamic_cast<TrainableAgent&>(*agent);
    Evaluator training(*problem, {.seed = 1, .budget = {.max_evaluations = 30}});
    Evaluator* const evaluators[] = {&training};
    trainable.train(evaluators, {});
    EXPECT_TRUE(training.budget().exhausted());
    Evaluator evaluator(*problem, {.seed = 2, .budget = {.max_evaluations = 1000}});
    expect_valid(*problem, trainable.place_with_policy(*problem, evaluator));
    EXPECT_LE(evaluator.budget().evaluations(),
              trainable.evaluations_per_episode(problem->num_groups()));
  }
}

TEST_P(TrainableConformance, EndsItsTrainingWhenStopped) {
  const Problem problem = test::make_problem(test::fork_join_graph(6, 20));
  constexpr std::int64_t kMany = 1'000'000'000;
  for (const bool at_once : {true, false}) {
    std::atomic<bool> stop = at_once;
    const auto agent = make();
    auto& trainable = dynamic_cast<TrainableAgent&>(*agent);
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = kMany, .stop = &stop}});
    Evaluator* const evaluators[] = {&evaluator};
    std::int64_t updates = 0;
    trainable.train(evaluators, [&](const TrainingUpdate&) {
      stop = true;
      ++updates;
      return true;
    });
    EXPECT_EQ(updates, at_once ? 0 : 1);
    // Nothing is learned from episodes that were cut short.
    const std::string policy = trainable.save();
    trainable.train(evaluators, {});
    EXPECT_TRUE(trainable.save() == policy);
  }
}

TEST_P(TrainableConformance, PlacesWithAPolicyWithoutChangingIt) {
  const auto agent = make();
  auto& trainable = dynamic_cast<TrainableAgent&>(*agent);
  const Problem problem = test::make_problem(test::fork_join_graph(6, 20));
  Evaluator training(problem, {.seed = 1, .budget = {.max_evaluations = 50}});
  agent->place(problem, training);
  const std::string policy = trainable.save();
  Evaluator evaluator(problem, {.seed = 2, .budget = {.max_evaluations = 1000}});
  expect_valid(problem, trainable.place_with_policy(problem, evaluator));
  EXPECT_GT(evaluator.budget().evaluations(), 0);
  EXPECT_LE(evaluator.budget().evaluations(),
            trainable.evaluations_per_episode(problem.num_groups()));
  EXPECT_EQ(trainable.save(), policy);
}

TEST_P(TrainableConformance, NeverPlacesWorseThanThePolicyThatItBeginsWith) {
  const auto agent = make();
  auto& trainable = dynamic_cast<TrainableAgent&>(*agent);
  const Problem problem = test::make_problem(test::fork_join_graph(6, 20));
  Evaluator training(problem, {.seed = 1, .budget = {.max_evaluations = 200}});
  agent->place(problem, training);
  const std::string policy = trainable.save();
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Evaluator as_it_is(problem, {.seed = seed, .budget = {.max_evaluations = 60}});
    trainable.place_with_policy(problem, as_it_is);
    const auto other = make();
    dynamic_cast<TrainableAgent&>(*other).load(JsonDocument::parse(policy, "policy").root());
    Evaluator evaluator(problem, {.seed = seed, .budget = {.max_evaluations = 60}});
    other->place(problem, evaluator);
    EXPECT_FALSE(as_it_is.incumbent().evaluation().better_than(evaluator.incumbent().evaluation()));
  }
}

TEST_P(TrainableConformance, ResumesTrainingWithTheSameBits) {
  expect_resumes_from_checkpoints([&] { return make(); },
                                  test::make_problem(test::fork_join_graph(6, 20)),
                                  test::make_problem(test::diamond_graph(50)));
}

using test::error_of;

TEST_P(TrainableConformance, RefusesPoliciesAndTrainingsThatDoNotFit) {
  const Problem small = test::make_problem(test::diamond_graph(50));
  const Problem large = test::make_problem(test::fork_join_graph(6, 20));
  Evaluator on_small(small, {.seed = 1, .budget = {.max_evaluations = 100}});
  Evaluator on_large(large, {.seed = 2, .budget = {.max_evaluations = 100}});
  Evaluator* const evaluators[] = {&on_small, &on_large};
  const auto agent = make();
  auto& trained = dynamic_cast<TrainableAgent&>(*agent);
  trained.train(evaluators, [](const TrainingUpdate&) { return false; });
  const std::string policy = trained.save();
  const std::string training = trained.save_training();

  const auto other = make();
  auto& loaded = dynamic_cast<TrainableAgent&>(*other);
  const auto policy_error = [&](const std::string& text) {
    return error_of([&] { loaded.load(JsonDocument::parse(text, "policy.json").root()); });
  };
  EXPECT_EQ(policy_error(policy), "none");
  EXPECT_THAT(policy_error("{}"), testing::StartsWith("policy.json: "));
  EXPECT_THAT(policy_error(training), testing::StartsWith("policy.json: "));
  EXPECT_THAT(policy_error(policy.substr(0, policy.size() / 2)),
              testing::StartsWith("policy.json"));
  const auto training_error = [&](const std::string& text) {
    return error_of(
        [&] { loaded.load_training(JsonDocument::parse(text, "training.json").root()); });
  };
  EXPECT_THAT(training_error(policy), testing::StartsWith("training.json: "));
  EXPECT_THAT(training_error(training.substr(0, training.size() / 2)),
              testing::StartsWith("training.json"));
  EXPECT_EQ(training_error(training), "none");
  EXPECT_THAT(error_of([&] { loaded.train(std::span(evaluators).first(1), {}); }),
              testing::MatchesRegex("training.json: /.*: expected 1 problems, found 2"));
}

// All agents, each with all its presets.
std::vector<std::string> specs() {
  std::vector<std::string> specs;
  for (const std::string& name : AgentRegistry::global().names()) {
    const AgentInfo& info = AgentRegistry::global().info(name);
    if (info.needs_program) {
      continue;
    }
    if (info.presets.empty()) {
      specs.push_back(name);
    }
    for (const Preset& preset : info.presets) {
      specs.push_back(name + ":preset=" + preset.name);
    }
  }
  return specs;
}

// Those of them whose info says so.
std::vector<std::string> specs_that_are(bool AgentInfo::*trait) {
  std::vector<std::string> those = specs();
  std::erase_if(those, [&](const std::string& spec) { return !(AgentSpec(spec).info().*trait); });
  return those;
}

INSTANTIATE_TEST_SUITE_P(Registered, Conformance, testing::ValuesIn(specs()),
                         test::kNamedByParameter);
INSTANTIATE_TEST_SUITE_P(Registered, DeterministicConformance,
                         testing::ValuesIn(specs_that_are(&AgentInfo::deterministic)),
                         test::kNamedByParameter);
INSTANTIATE_TEST_SUITE_P(Registered, TrainableConformance,
                         testing::ValuesIn(specs_that_are(&AgentInfo::trainable)),
                         test::kNamedByParameter);

INSTANTIATE_TEST_SUITE_P(Program, Conformance,
                         testing::Values("exec:" + test::source_path("examples/exec/hill_climb.py"),
                                         "exec:" +
                                             test::source_path("examples/exec/equal_runs.sh")),
                         [](const testing::TestParamInfo<std::string>& agent) {
                           return agent.param.ends_with(".py") ? "python" : "shell";
                         });

}  // namespace
}  // namespace emplace::agents::conformance_test

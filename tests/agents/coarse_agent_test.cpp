// Agents that decide on fewer groups than their problems have.

#include "agents/trainings.hpp"
#include "coarsening/coarsening.hpp"
#include "coarsening/group_nesting.hpp"
#include "support/test_names.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/json_cursor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace emplace::agents::coarse_agent_test {
namespace {

constexpr GroupId kGroups = 5;

const AgentInfo& info_of(const std::string& name) { return AgentRegistry::global().info(name); }

std::vector<std::string> coarse_agents() {
  std::vector<std::string> names;
  for (const std::string& name : AgentRegistry::global().names()) {
    if (info_of(name).default_groups) {
      names.push_back(name);
    }
  }
  return names;
}

// A source, 12 ops side by side and a sink: 14 groups.
Problem fine_problem() {
  return test::make_problem(test::fork_join_graph(12, 20), {.num_devices = 3});
}

Problem level_of(const Problem& problem) {
  return problem.regrouped(Coarsening(problem).grouping(kGroups));
}

TEST(CoarseAgents, AreTheLearnedOnesAndTakeTheSameParameter) {
  for (const std::string& name : AgentRegistry::global().names()) {
    const AgentInfo& info = info_of(name);
    EXPECT_EQ(info.default_groups.has_value(), info.kind == AgentKind::kLearned) << name;
    if (info.default_groups) {
      const auto parameter = std::ranges::find(info.parameters, kGroupsParameter, &ParamSpec::name);
      ASSERT_NE(parameter, info.parameters.end()) << name;
      const GroupId groups = name == "learned-search" ? 0 : 128;  // 0: all
      EXPECT_EQ(parameter->default_value, ParamValue(std::int64_t{groups})) << name;
      EXPECT_EQ(info.default_groups, groups) << name;
    }
  }
}

class CoarseAgent : public testing::TestWithParam<std::string> {
 protected:
  // Small LSTMs: their size matters only for the time of the tests.
  static std::unique_ptr<Agent> make(const std::string& groups, bool groups_are_given = false) {
    Spec spec{GetParam(), {}};
    if (!groups.empty()) {
      spec.given.emplace_back("groups", groups);
    }
    if (std::ranges::find(info_of(GetParam()).parameters, "hidden", &ParamSpec::name) !=
        info_of(GetParam()).parameters.end()) {
      spec.given.emplace_back("hidden", "8");
    }
    return AgentRegistry::global().make(spec, groups_are_given);
  }

  static std::unique_ptr<TrainableAgent> make_trainable(const std::string& groups) {
    std::unique_ptr<Agent> agent = make(groups);
    auto* const trainable = dynamic_cast<TrainableAgent*>(agent.get());
    EXPECT_EQ(trainable != nullptr, info_of(GetParam()).trainable);
    if (trainable != nullptr) {
      agent.release();
    }
    return std::unique_ptr<TrainableAgent>(trainable);
  }
};

TEST_P(CoarseAgent, DecidesAsOnTheProblemOfItsLevel) {
  const Problem fine = fine_problem();
  const Problem level = level_of(fine);
  const auto agent = make("5");
  EXPECT_EQ(agent->decision_groups(fine), kGroups);
  Evaluator evaluator(fine, {.seed = 4, .budget = {.max_evaluations = 150}});
  const Placement placement = agent->place(fine, evaluator);

  Evaluator alone(level, {.seed = 4, .budget = {.max_evaluations = 150}});
  const Placement coarse = make("0")->place(level, alone);
  const GroupNesting nesting(fine.grouping(), level.grouping());
  EXPECT_EQ(placement, nesting.expand(coarse));
  EXPECT_EQ(evaluator.budget().evaluations(), alone.budget().evaluations());
  EXPECT_EQ(evaluator.incumbent().evaluations_to_best(), alone.incumbent().evaluations_to_best());
  EXPECT_EQ(evaluator.incumbent().evaluation().step_time_us,
            alone.incumbent().evaluation().step_time_us);
  EXPECT_EQ(evaluator.incumbent().placement(), nesting.expand(*alone.incumbent().placement()));
}

TEST_P(CoarseAgent, ChangesNothingWhereThereAreNoMoreGroups) {
  const Problem fine = fine_problem();
  const auto placed_by = [&](std::unique_ptr<Agent> agent) {
    EXPECT_EQ(agent->decision_groups(fine), fine.num_groups());
    Evaluator evaluator(fine, {.seed = 4, .budget = {.max_evaluations = 100}});
    return agent->place(fine, evaluator);
  };
  const Placement expected = placed_by(make("0"));
  EXPECT_EQ(placed_by(make("14")), expected);
  EXPECT_EQ(placed_by(make("")), expected);  // 128
}

TEST_P(CoarseAgent, DecidesOnAllGroupsThatTheUserAskedFor) {
  const Problem problem = test::make_problem(test::fork_join_graph(150, 20));
  EXPECT_EQ(make("")->decision_groups(problem),
            GetParam() == "learned-search" ? problem.num_groups() : GroupId(128));
  EXPECT_EQ(make("", true)->decision_groups(problem), 152);
  EXPECT_EQ(make("40", true)->decision_groups(problem), 40);
}

TEST_P(CoarseAgent, NeedsTheEvaluationsOfItsLevel) {
  const auto agent = make_trainable("5");
  if (agent) {
    const Problem fine = fine_problem();
    EXPECT_EQ(agent->evaluations_per_episode(fine.num_groups()),
              make_trainable("0")->evaluations_per_episode(kGroups));
  }
}

TEST_P(CoarseAgent, ResumesTrainingWithTheSameBits) {
  if (!info_of(GetParam()).trainable) {
    return;
  }
  expect_resumes_from_checkpoints([&] { return make_trainable("5"); }, fine_problem(),
                                  test::make_problem(test::diamond_graph(50), {.num_devices = 3}));
}

TEST_P(CoarseAgent, PlacesWithAPolicyOfItsLevel) {
  if (!info_of(GetParam()).trainable) {
    return;
  }
  const Problem fine = fine_problem();
  const Problem level = level_of(fine);
  const auto trained = make_trainable("5");
  Evaluator training(fine, {.seed = 1, .budget = {.max_evaluations = 60}});
  trained->place(fine, training);
  const std::string policy = trained->save();

  const auto place = [&](const std::string& groups, const Problem& problem) {
    const auto agent = make_trainable(groups);
    agent->load(JsonDocument::parse(policy, "policy").root());
    EXPECT_EQ(agent->save(), policy);
    Evaluator evaluator(problem, {.seed = 3, .budget = {.max_evaluations = 200}});
    return agent->place_with_policy(problem, evaluator);
  };
  EXPECT_EQ(place("5", fine),
            GroupNesting(fine.grouping(), level.grouping()).expand(place("0", level)));
}

INSTANTIATE_TEST_SUITE_P(Learned, CoarseAgent, testing::ValuesIn(coarse_agents()),
                         test::kNamedByParameter);

}  // namespace
}  // namespace emplace::agents::coarse_agent_test

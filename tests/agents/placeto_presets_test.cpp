// The presets of Placeto: what they are, and that policies pass from one to another.

#include "agents/trainings.hpp"

#include <emplace/agents/registry.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace emplace::agents::placeto_presets_test {
namespace {

const AgentInfo& placeto() { return AgentRegistry::global().info("placeto"); }

std::string policy_of(const std::string& spec) {
  const Problem problem = test::make_problem(test::crossing_graph());
  Evaluator evaluator(problem, {.budget = {.max_evaluations = 8}});
  const auto agent = make(spec);
  agent->place(problem, evaluator);
  return trainable(*agent).save();
}

TEST(PlacetoPresets, HaveNamesTextsAndValuesThatParametersMayHave) {
  ASSERT_FALSE(placeto().presets.empty());
  for (const Preset& preset : placeto().presets) {
    SCOPED_TRACE(preset.name);
    EXPECT_THAT(preset.name, testing::MatchesRegex("[a-z]+(-[a-z]+)*"));
    EXPECT_FALSE(preset.summary.empty());
    for (const auto& [name, value] : preset.defaults) {
      const Spec given{.name = "placeto", .given = {{name, emplace::to_string(value)}}};
      EXPECT_EQ(AgentRegistry::global().resolve(given).values().at(name), value) << name;
    }
    EXPECT_EQ(AgentRegistry::global()
                  .resolve(Spec::parse("placeto:preset=" + preset.name))
                  .get<std::string>("preset"),
              preset.name);
  }
}

TEST(PlacetoPresets, AreTheReleasedCodeAndThePaper) {
  const auto resolved = [](const char* spec) {
    return AgentRegistry::global().resolve(Spec::parse(spec));
  };
  const Params released = resolved("placeto:preset=released");
  EXPECT_EQ(released.get<std::string>("device-encoding"), "one-hot");
  EXPECT_EQ(released.get<std::string>("start"), "random");
  EXPECT_EQ(released.get<double>("discount"), 1);
  EXPECT_EQ(released.get<double>("entropy-weight"), 1);
  EXPECT_EQ(released.get<std::string>("entropy-decay"), "none");
  EXPECT_EQ(released.get<double>("memory-limit"), 8);
  EXPECT_EQ(released.get<std::int64_t>("workers"), 4);
  EXPECT_TRUE(released.get<bool>("greedy-first"));
  const Params paper = resolved("placeto:preset=paper");
  for (const Params* params : {&released, &paper}) {
    EXPECT_EQ(params->get<std::string>("reward"), "step");
    EXPECT_GT(params->get<std::int64_t>("rounds"), 0);
  }
  EXPECT_EQ(resolved("placeto:preset=released,start=best").get<std::string>("start"), "best");
}

// What most users need; an agent of these presets has no other such parameters.
TEST(PlacetoPresets, ListFewParameters) {
  std::vector<std::string> names;
  for (const ParamSpec& parameter : placeto().parameters) {
    if (!parameter.expert) {
      names.push_back(parameter.name);
    }
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("preset", "groups", "device-encoding", "rounds",
                                                   "workers", "start", "reward", "discount",
                                                   "learning-rate", "entropy-weight"));
}

// Recorded with the agent `placeto` of version 0.1, which differs from the code in these settings:
// the step times at the ends of its episodes, in us.
TEST(PlacetoPresets, ReleasedIsTheAgentOfVersionOne) {
  const Problem problem = test::make_problem(test::crossing_graph());
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 96}});
  Evaluator* const evaluators[] = {&evaluator};
  const auto agent = make(
      "placeto:preset=released,workers=1,greedy-first=false,memory-limit=0,entropy-decay=linear");
  std::vector<double> last_us;
  trainable(*agent).train(evaluators, [&](const TrainingUpdate& update) {
    last_us.push_back(update.last_us);
    return true;
  });
  EXPECT_THAT(last_us,
              testing::ElementsAre(345, 375, 375, 390, 320, 320, 355, 320, 400, 360, 260, 390));
}

TEST(PlacetoPresets, ShareThePoliciesOfNetworksOfTheSameShape) {
  const std::string policy = policy_of("placeto:preset=paper");
  EXPECT_EQ(load_mistake("placeto:preset=paper,start=one-device", policy), "none");
  EXPECT_EQ(
      load_mistake("placeto:preset=released,device-encoding=features,stay-bias=3,mean-pooling=true",
                   policy),
      "none");
  EXPECT_EQ(load_mistake("placeto:preset=released", policy),
            "policy.json: /network/device-encoding: the policy was trained with "
            "device-encoding=features, not device-encoding=one-hot");
  EXPECT_EQ(load_mistake("placeto:preset=paper", policy_of("placeto:preset=released")),
            "policy.json: /network/device-encoding: the policy was trained with "
            "device-encoding=one-hot, not device-encoding=features");
}

}  // namespace
}  // namespace emplace::agents::placeto_presets_test

#include "support/errors.hpp"
#include "support/problems.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/base/check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace::agents::registry_test {
namespace {

// Puts everything on the device that its parameter says.
class Fixed final : public Agent {
 public:
  explicit Fixed(const Params& params)
      : device_(static_cast<DeviceId>(params.get<std::int64_t>("device"))) {}
  Placement place(const Problem& problem, Evaluator&) override {
    return Placement(problem.num_groups(), device_);
  }

 private:
  DeviceId device_;
};

AgentInfo fixed_info(std::string name) {
  return {.name = std::move(name),
          .summary = "one device",
          .parameters = {{.name = "device",
                          .default_value = std::int64_t{0},
                          .min = 0,
                          .max = 7,
                          .summary = "which"}}};
}

AgentRegistry registry_of(const std::vector<std::string>& names) {
  AgentRegistry registry;
  for (const std::string& name : names) {
    registry.add(fixed_info(name), [](const Params& p) { return std::make_unique<Fixed>(p); });
  }
  return registry;
}

TEST(AgentRegistry, ListsNamesSortedWhateverTheOrderOfRegistration) {
  EXPECT_THAT(registry_of({"heft", "etf", "metis"}).names(),
              testing::ElementsAre("etf", "heft", "metis"));
}

TEST(AgentRegistry, MakesAnAgentWithTheParametersOfTheSpec) {
  const AgentRegistry registry = registry_of({"fixed"});
  const Problem problem = test::make_problem(test::chain_graph({1, 1}, 0), {.num_devices = 4});
  Evaluator evaluator(problem, {});
  EXPECT_EQ(registry.make(Spec::parse("fixed"))->place(problem, evaluator), Placement(2, 0));
  EXPECT_EQ(registry.make(Spec::parse("fixed:device=3"))->place(problem, evaluator),
            Placement(2, 3));
}

TEST(AgentRegistry, RefusesAParameterOutOfBoundsAndNamesTheAgent) {
  const AgentRegistry registry = registry_of({"fixed"});
  EXPECT_THAT(
      test::error_of(ErrorCode::kUsage, [&] { registry.make(Spec::parse("fixed:device=8")); }),
      testing::HasSubstr("agent fixed"));
}

TEST(AgentRegistry, SuggestsTheNearestNameForAnUnknownOne) {
  const AgentRegistry registry = registry_of({"heft", "metis", "human-expert"});
  EXPECT_THAT(test::error_of(ErrorCode::kUnknownName, [&] { registry.info("hefd"); }),
              testing::HasSubstr("'heft'"));
}

TEST(AgentRegistry, ThrowsOnASecondAgentOfOneName) {
  EXPECT_THROW(registry_of({"twin", "twin"}), InternalError);
}

// With the own defaults device=0 and speed=1.
AgentRegistry registry_with(std::vector<Preset> presets) {
  AgentInfo info = fixed_info("fixed");
  info.parameters.push_back({.name = "speed", .default_value = 1.0, .min = 0, .max = 9});
  info.presets = std::move(presets);
  AgentRegistry registry;
  registry.add(std::move(info), [](const Params& p) { return std::make_unique<Fixed>(p); });
  return registry;
}

AgentRegistry registry_with_presets() {
  return registry_with({{.name = "far", .defaults = {{"device", std::int64_t{5}}}},
                        {.name = "fast", .defaults = {{"speed", 3.0}}},
                        {.name = "plain"}});
}

TEST(AgentPresets, GoBeforeDefaultsAndWhatTheUserGivesBeforeThem) {
  const AgentRegistry registry = registry_with_presets();
  const auto resolved = [&](const char* spec) {
    const Params params = registry.resolve(Spec::parse(spec));
    return std::tuple(params.get<std::string>("preset"), params.get<std::int64_t>("device"),
                      params.get<double>("speed"));
  };
  EXPECT_EQ(resolved("fixed"), std::tuple("far", 5, 1.0));
  EXPECT_EQ(resolved("fixed:preset=far"), std::tuple("far", 5, 1.0));
  EXPECT_EQ(resolved("fixed:device=0"), std::tuple("far", 0, 1.0));
  EXPECT_EQ(resolved("fixed:preset=fast"), std::tuple("fast", 0, 3.0));
  EXPECT_EQ(resolved("fixed:speed=1,preset=fast"), std::tuple("fast", 0, 1.0));
  EXPECT_EQ(resolved("fixed:preset=fast,device=7"), std::tuple("fast", 7, 3.0));
  EXPECT_EQ(resolved("fixed:preset=plain"), std::tuple("plain", 0, 1.0));

  const Problem problem = test::make_problem(test::chain_graph({1, 1}, 0), {.num_devices = 6});
  Evaluator evaluator(problem, {});
  EXPECT_EQ(registry.make(Spec::parse("fixed"))->place(problem, evaluator), Placement(2, 5));
}

TEST(AgentPresets, AreListedWithAllThatAnyOfThemChanges) {
  const AgentRegistry registry = registry_with_presets();
  const AgentInfo& info = registry.info("fixed");
  ASSERT_EQ(info.parameters.size(), 3U);
  EXPECT_EQ(info.parameters[0].name, "preset");
  EXPECT_EQ(info.parameters[0].default_value, ParamValue("far"));
  EXPECT_THAT(info.parameters[0].choices, testing::ElementsAre("far", "fast", "plain"));
  EXPECT_EQ(info.parameters[1].default_value, ParamValue(std::int64_t{5}));
  EXPECT_EQ(info.parameters[2].default_value, ParamValue(1.0));
  EXPECT_EQ(info.presets[0].defaults, (ParamDefaults{{"device", std::int64_t{5}}, {"speed", 1.0}}));
  EXPECT_EQ(info.presets[1].defaults, (ParamDefaults{{"device", std::int64_t{0}}, {"speed", 3.0}}));
  EXPECT_EQ(info.presets[2].defaults, (ParamDefaults{{"device", std::int64_t{0}}, {"speed", 1.0}}));
}

TEST(AgentPresets, RefuseAnUnknownOne) {
  const AgentRegistry registry = registry_with_presets();
  EXPECT_EQ(test::error_of(ErrorCode::kUsage,
                           [&] { registry.resolve(Spec::parse("fixed:preset=near")); }),
            "agent fixed: preset is 'near', expected one of 'far', 'fast', 'plain'");
}

TEST(AgentPresets, MayOnlyChangeParametersAndKeepTheirTypes) {
  EXPECT_THROW(registry_with({{.name = "a", .defaults = {{"devise", std::int64_t{1}}}}}),
               InternalError);
  EXPECT_THROW(registry_with({{.name = "a", .defaults = {{"device", 1.5}}}}), InternalError);
  EXPECT_THROW(registry_with({{.name = "a", .defaults = {{"preset", "a"}}}}), InternalError);
}

TEST(AgentRegistry, HoldsTheAgentsOfThisProgram) {
  EXPECT_THAT(AgentRegistry::global().names(),
              testing::IsSupersetOf({"cpu-only", "etf", "heft", "hill-climb", "human-expert",
                                     "m-etf", "m-topo", "random", "round-robin",
                                     "simulated-annealing", "single-gpu"}));
}

}  // namespace
}  // namespace emplace::agents::registry_test

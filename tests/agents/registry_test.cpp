#include "support/problems.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents {
namespace {

// Puts everything on the device that its parameter says.
class Fixed final : public Agent {
 public:
  explicit Fixed(const Params& params)
      : device_(static_cast<DeviceId>(params.get<std::int64_t>("device"))) {}
  Placement place(const Problem& problem, Session&) override {
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
  Session session(problem, {});
  EXPECT_EQ(registry.make(Spec::parse("fixed"))->place(problem, session), Placement(2, 0));
  EXPECT_EQ(registry.make(Spec::parse("fixed:device=3"))->place(problem, session), Placement(2, 3));
}

TEST(AgentRegistry, RefusesAParameterOutOfBoundsAndNamesTheAgent) {
  const AgentRegistry registry = registry_of({"fixed"});
  try {
    registry.make(Spec::parse("fixed:device=8"));
    FAIL() << "8 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("agent fixed"));
  }
}

TEST(AgentRegistry, SuggestsTheNearestNameForAnUnknownOne) {
  const AgentRegistry registry = registry_of({"heft", "metis", "human-expert"});
  try {
    registry.info("hefd");
    FAIL() << "hefd was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnknownName);
    EXPECT_THAT(error.what(), testing::HasSubstr("'heft'"));
  }
}

TEST(AgentRegistry, ThrowsOnASecondAgentOfOneName) {
  EXPECT_THROW(registry_of({"twin", "twin"}), InternalError);
}

TEST(AgentRegistry, HoldsTheAgentsOfThisProgram) {
  EXPECT_THAT(AgentRegistry::global().names(),
              testing::IsSupersetOf({"cpu-only", "etf", "heft", "hill-climb", "human-expert",
                                     "m-etf", "m-topo", "random", "round-robin",
                                     "simulated-annealing", "single-gpu"}));
}

}  // namespace
}  // namespace emplace::agents

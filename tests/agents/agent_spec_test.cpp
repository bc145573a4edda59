#include "support/errors.hpp"

#include <emplace/agents/agent_spec.hpp>
#include <emplace/base/json_cursor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::agent_spec_test {
namespace {

using test::error_of;

TEST(AgentSpec, HoldsTheTextAndItsParts) {
  const AgentSpec agent = "hill-climb:start=heft";
  EXPECT_EQ(agent.text(), "hill-climb:start=heft");
  EXPECT_EQ(agent.name(), "hill-climb");
  EXPECT_EQ(agent.info().name, "hill-climb");
  EXPECT_EQ(agent.resolve().get<std::string>("start"), "heft");
  EXPECT_NE(agent.make(), nullptr);
  EXPECT_EQ(agent, "hill-climb:start=heft");
  EXPECT_NE(agent, "hill-climb");
  EXPECT_EQ(AgentSpec().text(), "");
}

TEST(AgentSpec, RefusesAMalformedTextAtOnce) {
  error_of(ErrorCode::kUsage, [] { AgentSpec("hill-climb:start"); });
  error_of(ErrorCode::kUsage, [] { AgentSpec(":start=heft"); });
}

TEST(AgentSpec, MayNameAnAgentOfAnotherProgram) {
  const AgentSpec agent = "hill-climber:start=heft";
  EXPECT_EQ(agent.name(), "hill-climber");
  EXPECT_THAT(error_of(ErrorCode::kUnknownName, [&] { agent.info(); }),
              testing::HasSubstr("did you mean 'hill-climb'?"));
  error_of(ErrorCode::kUnknownName, [&] { agent.make(); });
}

TEST(AgentSpec, ResolvesParametersAgainstThoseOfTheAgent) {
  error_of(ErrorCode::kUsage, [] { AgentSpec("hill-climb:stat=heft").resolve(); });
  error_of(ErrorCode::kUsage, [] { AgentSpec("hill-climb:start=nowhere").make(); });
}

TEST(AgentSpec, TellsWhereInAFileItIsMalformed) {
  const JsonDocument document = JsonDocument::parse(R"(["heft", "heft:", 7])", "suite.json");
  const std::vector<JsonCursor> agents = document.root().elements();
  EXPECT_EQ(AgentSpec::from_json(agents[0]), "heft");
  EXPECT_THAT(error_of(ErrorCode::kFormat, [&] { AgentSpec::from_json(agents[1]); }),
              testing::StartsWith("suite.json: /1: 'heft:'"));
  EXPECT_THAT(error_of(ErrorCode::kFormat, [&] { AgentSpec::from_json(agents[2]); }),
              testing::StartsWith("suite.json: /2: expected a text"));
}

}  // namespace
}  // namespace emplace::agents::agent_spec_test

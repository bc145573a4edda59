// Good agents pass. Mistakes are found by tests/python/conformance_test.py and tests/cli/exec.bats,
// where wrong agents are easy to write.

#include "support/errors.hpp"

#include <emplace/bench/agent_check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace emplace::bench::agent_check_test {
namespace {

TEST(AgentCheck, FindsNoMistakeInGoodAgents) {
  const std::atomic<bool> stop = false;
  for (const char* agent : {"heft", "cpu-only", "random", "simulated-annealing:start=heft"}) {
    for (const AgentCheck& check : check_agent(agent, stop)) {
      EXPECT_THAT(check.mistakes, testing::IsEmpty()) << agent << ": " << check.what;
    }
  }
}

TEST(AgentCheck, EndsWhenStopped) {
  const std::atomic<bool> stop = true;
  EXPECT_THAT(check_agent("heft", stop), testing::IsEmpty());
}

TEST(AgentCheck, RefusesAgentsThatDoNotExist) {
  const std::atomic<bool> stop = false;
  test::error_of(ErrorCode::kUnknownName, [&] { check_agent("hefty", stop); });
}

}  // namespace
}  // namespace emplace::bench::agent_check_test

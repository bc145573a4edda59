// The table of agents in agents/README.md is what the registry says.

#include "tests/support/source_path.hpp"

#include <emplace/agents/registry.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace emplace::agents {
namespace {

std::string row(const AgentInfo& info) {
  std::string parameters;
  for (const ParamSpec& parameter : info.parameters) {
    parameters += fmt::format("{}`{}={}` {}", parameters.empty() ? "" : "; ", parameter.name,
                              emplace::to_string(parameter.default_value), parameter.summary);
  }
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", info.name, to_string(info.kind),
                     info.summary, info.reference, parameters);
}

TEST(AgentsReadme, HasTheRowOfEachRegisteredAgent) {
  std::ifstream file(test::source_path("agents/README.md"));
  ASSERT_TRUE(file) << "agents/README.md cannot be read";
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& name : AgentRegistry::global().names()) {
    EXPECT_THAT(readme, testing::HasSubstr("\n" + row(AgentRegistry::global().info(name))));
  }
}

TEST(AgentsReadme, ListsNoAgentThatIsGone) {
  std::ifstream file(test::source_path("agents/README.md"));
  std::vector<std::string> known = AgentRegistry::global().names();
  known.insert(known.end(), {"metis", "scotch"});  // a build without the library has no such agent
  for (std::string line; std::getline(file, line) && line != "## Files";) {
    if (line.starts_with("| `")) {
      EXPECT_THAT(known, testing::Contains(line.substr(3, line.find('`', 3) - 3)));
    }
  }
}

}  // namespace
}  // namespace emplace::agents

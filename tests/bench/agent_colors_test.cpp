#include <emplace/base/svg.hpp>
#include <emplace/bench/agent_colors.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace emplace::bench::agent_colors_test {
namespace {

TEST(AgentColors, TellFourRoundsOfThePaletteApart) {
  std::vector<std::string> agents;
  std::set<std::pair<std::string, std::string>> pens;
  for (std::size_t at = 0; at < 4 * kPictureColors.size(); ++at) {
    agents.push_back("agent " + std::to_string(at));
  }
  for (const std::string& agent : agents) {
    const LogPlot::Pen pen = agent_pen(agents, agent);
    pens.emplace(pen.color, pen.dashes);
  }
  EXPECT_EQ(pens.size(), agents.size());
  EXPECT_EQ(agent_pen(agents, "agent 1").color, kPictureColors[1]);
  EXPECT_TRUE(agent_pen(agents, "agent 1").dashes.empty());
  EXPECT_EQ(agent_pen(agents, "agent 13").color, kPictureColors[1]);
  EXPECT_FALSE(agent_pen(agents, "agent 13").dashes.empty());
}

}  // namespace
}  // namespace emplace::bench::agent_colors_test

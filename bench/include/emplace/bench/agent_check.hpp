#pragma once

// What every agent must do, asked on tiny problems: for agents of plug-ins, of programs and in
// Python.

#include <emplace/agents/agent_spec.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// One thing that an agent must do.
struct AgentCheck {
  std::string_view what{};  ///< "keeps its budget of evaluations"
  std::vector<std::string>
      mistakes{};  ///< where it does not, each with its problem; none if it does
};

/// Runs all checks, in a fixed order; `stop` leaves out those that did not begin. Throws Error for
/// an unknown agent or a wrong parameter.
std::vector<AgentCheck> check_agent(const agents::AgentSpec& agent, const std::atomic<bool>& stop);

}  // namespace emplace::bench

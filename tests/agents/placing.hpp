#pragma once

// How the tests of single agents run one.

#include <emplace/agents/registry.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace emplace::agents {

/// Makes the agent `spec`.
inline std::unique_ptr<Agent> make(std::string_view spec) {
  return AgentRegistry::global().make(Spec::parse(spec));
}

/// Returns `agent` as one that trains. Requires: it does.
inline TrainableAgent& trainable(Agent& agent) { return dynamic_cast<TrainableAgent&>(agent); }

/// Returns the devices that agent `spec` chooses.
inline std::vector<DeviceId> place(std::string_view spec, const Problem& problem,
                                   const Session::Options& options = {}) {
  Session session(problem, options);
  const Placement placement = make(spec)->place(problem, session);
  return {placement.devices().begin(), placement.devices().end()};
}

}  // namespace emplace::agents

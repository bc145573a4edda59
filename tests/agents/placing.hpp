#pragma once

// How the tests of single agents run one.

#include <emplace/agents/registry.hpp>

#include <string_view>
#include <vector>

namespace emplace::agents {

/// Returns the devices that agent `spec` chooses.
inline std::vector<DeviceId> place(std::string_view spec, const Problem& problem,
                                   const Session::Options& options = {}) {
  Session session(problem, options);
  const Placement placement =
      AgentRegistry::global().make(Spec::parse(spec))->place(problem, session);
  return {placement.devices().begin(), placement.devices().end()};
}

}  // namespace emplace::agents

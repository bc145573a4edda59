#pragma once

// What `show` tells of an agent that trains a policy: the layers that it would have on a cluster.

#include <emplace/agents/agent.hpp>
#include <emplace/base/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::cli {

/// Holds the layers of an agent's policy for the placeable devices of a cluster.
struct PolicyFacts {
  std::string agent{};
  std::string cluster{};
  std::int64_t devices = 0;
  std::vector<agents::PolicyLayer> layers{};
  std::int64_t weights = 0;  ///< of all layers, with the biases
};

/// Says whether `spec` (NAME[:key=value,...]) names an agent.
bool names_agent(std::string_view spec);

/// Returns the facts of agent `spec` on `cluster`; throws kUsage if it trains no policy.
PolicyFacts facts_of_policy(std::string_view spec, std::string_view cluster);

/// Returns a table for people.
std::string to_text(const PolicyFacts& facts);

/// Returns a JSON answer, schema_version first.
Json to_json(const PolicyFacts& facts);

}  // namespace emplace::cli

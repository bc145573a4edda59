#pragma once

// The presets of Placeto.

#include <emplace/agents/agent.hpp>

#include <vector>

namespace emplace::agents::placeto {

/// Returns the presets, the default first.
std::vector<Preset> presets();

}  // namespace emplace::agents::placeto

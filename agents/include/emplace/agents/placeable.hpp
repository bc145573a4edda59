#pragma once

// Agents index tables of the placeable devices by the devices of a placement, so a placement from
// elsewhere (a file, a checkpoint, a program) must not get in with another device.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <string_view>

namespace emplace::agents {

/// Throws kUnsupported unless each group of `placement` is on a placeable device or pinned where it
/// is; `source` is the
/// subject of the error's text. Requires: a device for each group. O(groups).
void require_placeable(const Problem& problem, const Placement& placement, std::string_view source);

}  // namespace emplace::agents

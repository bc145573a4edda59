#pragma once

// Placements as run-length text, for results: "0*3 1 0*2" puts three groups on device 0, one on
// device 1 and two on device 0.

#include <emplace/base/json_cursor.hpp>
#include <emplace/sim/placement.hpp>

#include <string>

namespace emplace::bench {

/// Returns a placement as text.
std::string write_placement_text(const Placement& placement);

/// Reads such a text. Throws kFormat unless it has a device below `devices` for each of `groups`
/// groups.
Placement read_placement_text(const JsonCursor& json, std::int64_t groups, std::int64_t devices);

}  // namespace emplace::bench

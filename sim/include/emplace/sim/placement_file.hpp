#pragma once

// Placements as JSON files: a device name, and optionally a priority, for each op name, so that
// they survive a change of grouping. Format: sim/schema/placement.schema.json.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <string>
#include <string_view>

namespace emplace {

/// Returns the placement as JSON text, with the names of graph and cluster. The same placement
/// gives the same text in any grouping.
std::string write_placement_json(const Problem& problem, const Placement& placement);

/// Reads a placement for `problem`; `source` names the text in errors. Throws kFormat if an op or
/// device is unknown or missing, or if the file puts the members of a group on different devices
/// (an ungrouped problem has no such members). A group has the highest priority of its members.
Placement read_placement_json(std::string_view text, const std::string& source,
                              const Problem& problem);

/// Throws kUsage unless `placement` keeps the constraints of `problem` (Problem::constrain);
/// `source` is the subject of the error's text.
void require_constraints(const Problem& problem, const Placement& placement,
                         std::string_view source);

}  // namespace emplace

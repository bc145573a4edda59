#pragma once

// Placements in the states of evaluators and learners: a list of devices, one for each group.
// Learners index tables of placeable devices by them, so one that is not placeable must never get
// in.

#include <emplace/base/json_cursor.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

namespace emplace::agents {

/// Reads a placement of `problem`; throws kFormat unless it has a placeable device for each group.
Placement placement_from_json(const JsonCursor& json, const Problem& problem);

}  // namespace emplace::agents

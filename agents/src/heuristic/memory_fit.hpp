#pragma once

// How heuristics end with what fits into memory. A published algorithm that knows nothing of
// memory, or less than the simulator, keeps its placement wherever that fits: one simulated step
// tells. Only where it does not fit, other placements are made, by a variant of the algorithm that
// looks at memory and is told what to keep free on each device: nothing at first, then what the
// simulator found over there. Each is repaired (emplace/sim/repair.hpp), as the published one is,
// and the fastest of those that fit is taken. That costs some hundred simulations at most.

#include <emplace/graphs/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <functional>

namespace emplace::agents {

/// Says how many bytes of each device are to be kept free.
using MemoryReserve = IdVector<DeviceId, std::int64_t>;

/// Returns `published` if it fits, else the fastest that was found to fit, else the one with the
/// fewest bytes over. `schedule` looks at memory. Requires: a valid device for each group.
Placement fit_into_memory(const Problem& problem, Placement published,
                          const std::function<Placement(const MemoryReserve&)>& schedule);

}  // namespace emplace::agents

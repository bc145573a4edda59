#pragma once

// How heuristics end with what fits into memory. A published algorithm that knows nothing of
// memory, or less than the simulator, keeps its placement wherever that fits: one simulated step
// tells. Only where it does not fit, other placements are made, by a variant of the algorithm that
// looks at memory and is told what to keep free on each device: nothing at first, then what the
// simulator found over there. Each is repaired (repair/repair.hpp), as the published one is, and
// the fastest of those that fit is taken. That takes up to some 800 simulations, which count as
// evaluations and end with the budget; the one that tells whether it fits at all does not count.

#include <emplace/agents/budget.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <functional>

namespace emplace::agents {

/// Says how many bytes of each device are to be kept free.
using MemoryReserve = IdVector<DeviceId, std::int64_t>;

/// Returns `published` if it fits, else the fastest that was found to fit, else the one with the
/// fewest bytes over. `schedule` looks at memory; where nothing of it fits, fill_in_order() is
/// tried as well. Ends with the budget. Requires: a valid device for each group.
Placement fit_into_memory(const Problem& problem, Budget& budget, Placement published,
                          const std::function<Placement(const MemoryReserve&)>& schedule);

/// Fills device after device in topological order, each up to an even share of all memory plus the
/// largest group: the rule m-TOPO of Baechi (Jeon et al. 2020), adapted to groups. A group takes
/// its weights and all outputs of its members, nothing is freed (as in Baechi's test), and a share
/// is no larger than the device. Where the last device is full too, the rest goes to the device
/// with the most memory left; Baechi fails then.
Placement fill_in_order(const Problem& problem, const MemoryReserve& reserve);

}  // namespace emplace::agents

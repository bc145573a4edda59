#pragma once

// Makes a placement fit into memory. Groups leave full devices one after the other, first those
// that lose the least time for each byte that they free at the peak, until the step fits by an
// estimate in which all ops keep the times of the last simulation (memory_estimate.hpp). Then the
// step is simulated again, because its times have changed; if the simulator needs more memory than
// the estimate, the next round keeps that much free. So the rules of memory are the simulator's,
// whatever the model. Deterministic.
//
// The loss of a move is the extra time of transfers and of the group itself, plus the group's share
// of the device's busy time, as if it had to wait for it. Complexity: a simulation for each round,
// tens at most, and O(groups * devices + uses) for each move.

#include <emplace/agents/budget.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <cstdint>

namespace emplace::agents {

/// How a repair ended.
enum class RepairStatus : std::uint8_t {
  kFits,        ///< the placement fits
  kInfeasible,  ///< no placement on placeable devices fits (sim/memory_shortage.hpp)
  kGivenUp,     ///< nothing was found that fits
};

/// A repaired placement.
struct Repair {
  RepairStatus status = RepairStatus::kGivenUp;
  Placement placement{};         ///< one that fits, or else the one with the fewest bytes over
  double step_time_us = 0;       ///< of that placement
  std::int64_t bytes_over = 0;   ///< of that placement
  std::int64_t simulations = 0;  ///< made
};

/// Moves groups from full devices to placeable ones until `placement` fits. Returns a placement
/// that already fits unchanged. Makes at most `max_simulations`, at least one. Requires: a valid
/// device for each group; `simulator` is of `problem`.
Repair repair(const Problem& problem, Simulator& simulator, Placement placement,
              std::int64_t max_simulations = 100);

/// Does the same within a budget. The first simulation, which says whether the placement fits, is
/// not charged. Requires: the budget is not spent.
Repair repair(const Problem& problem, Simulator& simulator, Placement placement,
              std::int64_t max_simulations, Budget& budget);

}  // namespace emplace::agents

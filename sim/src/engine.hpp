#pragma once

// The interface behind which the rules of a transfer model stand. One virtual call for each run,
// none for each event.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>
#include <emplace/sim/step_record.hpp>

namespace emplace {

/// Simulates placements of one problem; a workspace of one thread. After its first run an engine
/// allocates nothing.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// Simulates one step. Returns views that are valid until the next run. Requires: a valid device
  /// for each group.
  virtual const SimResult& run(const Placement& placement) = 0;

  /// Simulates one step and returns everything that happened in it. Requires: as run().
  virtual StepRecord record(const Placement& placement) = 0;
};

/// Fills in what follows from the peaks: the status, the worst device and the bytes over.
void compare_with_capacity(const Problem& problem, SimResult& result);

/// Copies a result into a record that has no transfers and allocations yet.
StepRecord record_of(const Placement& placement, const SimResult& result);

}  // namespace emplace

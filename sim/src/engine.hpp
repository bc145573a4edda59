#pragma once

// The interface behind which the rules of a transfer model stand. One virtual call for each run,
// none for each event.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>
#include <emplace/sim/step_record.hpp>

#include <algorithm>
#include <limits>
#include <span>

namespace emplace {

/// Simulates placements of one problem; a workspace of one thread. After its first run an engine
/// allocates nothing.
class Engine {
 public:
  /// The cut-off of runs that have none.
  static constexpr double kNoCutoff = std::numeric_limits<double>::infinity();

  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// Simulates one step, cut off where it takes `cutoff_us` or longer. Returns views that are valid
  /// until the next run. Requires: a valid device for each group.
  virtual const SimResult& run(const Placement& placement, double cutoff_us) = 0;

  /// Returns everything that happened in the last run, which was of `placement` and not cut off.
  virtual StepRecord describe(const Placement& placement) = 0;

  /// Says whether start() must come before moves are tried from a base.
  virtual bool needs_start() const { return false; }

  /// Simulates the step of `base`, from which moves are tried.
  virtual const SimResult& start(const Placement& base) { return run(base, kNoCutoff); }

  /// Simulates the step of `moved`, which is `base` after `moves` of different groups; the result
  /// is that of run(). Requires: if needs_start(), `base` was
  /// started from or accepted last.
  virtual const SimResult& try_moves(const Placement& /*base*/, const Placement& moved,
                                     std::span<const Move> /*moves*/, double cutoff_us) {
    return run(moved, cutoff_us);
  }

  /// Makes what was tried last the base. Requires: it was not cut off.
  virtual void accept() {}
};

/// Fills in what follows from the peaks: the status, the worst device and the bytes over.
void compare_with_capacity(const Problem& problem, SimResult& result);

/// Sets whether a step of `makespan_us` is cut off, and its makespan. Returns whether it is.
inline bool cut_off(SimResult& result, double makespan_us, double cutoff_us) {
  result.is_cut_off = makespan_us >= cutoff_us;
  result.makespan_us = std::min(makespan_us, cutoff_us);
  return result.is_cut_off;
}

/// Copies a result into a record that has no transfers and allocations yet.
StepRecord record_of(const Placement& placement, const SimResult& result);

}  // namespace emplace

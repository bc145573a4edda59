#pragma once

// The engine of the `placeto` model: the rules of the simulator released with Placeto, bit for bit
// (docs/concepts/simulation.md).
//
// A placement that differs in few groups from a base, or from the run before, is run incrementally
// (incremental_run.hpp), any other in full (event_loop.hpp), with the same results to the last bit.
// Callers need not care: searches that try one move after the other gain by it, and where most
// groups are elsewhere the comparison costs next to nothing.

#include "engine.hpp"
#include "event_loop.hpp"
#include "incremental_run.hpp"
#include "memory_account.hpp"
#include "moved_groups.hpp"
#include "op_table.hpp"
#include "step_times.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace emplace::placeto_model {

/// Simulates placements by the rules of the `placeto` model.
class PlacetoEngine final : public Engine {
 public:
  /// Prepares a workspace. Requires: `problem` outlives it.
  explicit PlacetoEngine(const Problem& problem);

  const SimResult& run(const Placement& placement, double cutoff_us) override;
  StepRecord record(const Placement& placement) override;

  /// Says whether the last run was an incremental one.
  bool was_incremental() const { return was_incremental_; }

  /// Forgets all runs, so that the next one is full: for comparing the two.
  void forget() { moved_.forget(); }

 private:
  bool run_incrementally(const Placement& placement, double cutoff_us);
  bool prepare_base(MovedGroups::From from);
  void run_in_full(const Placement& placement, double cutoff_us);
  void put(GroupId group, DeviceId device);
  void take_off(GroupId group, DeviceId device);

  const Problem& problem_;
  IdVector<GroupId, std::size_t> num_ops_in_;
  IdVector<DeviceId, DeviceLoad> loads_;       // of the last run
  IdVector<DeviceId, DeviceLoad> base_loads_;  // of the base of incremental runs

  StepTimes times_;  // of full runs
  OpTable table_;
  EventLoop loop_;
  MemoryAccount memory_;
  SimResult result_;

  MovedGroups moved_;
  std::unique_ptr<IncrementalRun> incremental_;  // made when the first placement is worth one
  std::int64_t base_revision_ = 0;               // Problem::cost_revision() of the base
  bool was_incremental_ = false;
};

}  // namespace emplace::placeto_model

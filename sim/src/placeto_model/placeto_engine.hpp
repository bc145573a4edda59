#pragma once

// The engine of the `placeto` model: the rules of the simulator released with Placeto, bit for bit
// (docs/concepts/simulation.md).
//
// A move of few groups is run incrementally (incremental_run.hpp), any other step in full
// (event_loop.hpp), with the same results to the last bit.

#include "engine.hpp"
#include "event_loop.hpp"
#include "incremental_run.hpp"
#include "memory_account.hpp"
#include "op_table.hpp"
#include "step_times.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace emplace::placeto_model {

/// Simulates placements by the rules of the `placeto` model.
class PlacetoEngine final : public Engine {
 public:
  /// Prepares a workspace. Requires: both outlive it.
  PlacetoEngine(const Problem& problem, const CostTable& costs);

  const SimResult& run(const Placement& placement, double cutoff_us) override;
  StepRecord describe(const Placement& placement) override;
  bool needs_start() const override { return true; }
  const SimResult& start(const Placement& base) override;
  const SimResult& try_moves(const Placement& base, const Placement& moved,
                             std::span<const Move> moves, double cutoff_us) override;
  void accept() override;

  /// Says whether the last run was an incremental one.
  bool was_incremental() const { return was_incremental_; }

 private:
  // What is known of the base.
  enum class Base : std::uint8_t {
    kNothing,     // that would serve incremental runs
    kLastRun,     // it was the last run, a full one
    kOrder,       // base_order_
    kIncremental  // it is the base of incremental runs, too
  };

  bool try_incrementally(const Placement& base, const Placement& moved, std::span<const Move> moves,
                         double cutoff_us);
  bool prepare(const Placement& base);
  void run_in_full(const Placement& placement, double cutoff_us);
  void put(GroupId group, DeviceId device);
  void take_off(GroupId group, DeviceId device);

  const Problem& problem_;
  const CostTable& costs_;
  IdVector<GroupId, std::size_t> num_ops_in_;
  IdVector<DeviceId, PlacedOps> loads_;       // of the last run
  IdVector<DeviceId, PlacedOps> base_loads_;  // of the base

  StepTimes times_;  // of full runs
  OpTable table_;
  EventLoop loop_;
  MemoryAccount memory_;
  SimResult result_;

  Base base_ = Base::kNothing;
  bool has_priorities_ = false;                  // incremental runs know the order of times only
  std::vector<OpId> base_order_;                 // in which ops were dispatched
  std::unique_ptr<IncrementalRun> incremental_;  // made when the first move is worth one
  bool was_incremental_ = false;
  std::int32_t pause_ = 0;  // moves that are run in full since the last incremental run gave up
  std::int32_t pause_left_ = 0;
};

}  // namespace emplace::placeto_model

#pragma once

// When the outputs of a step are freed, and the peak of memory on each device (rules 14 and 15 of
// docs/concepts/simulation.md): an op's outputs are there from its start until 1 us before the
// truncated end of its last consumer, wherever that runs; persistent bytes for the whole step.

#include "event_loop.hpp"
#include "memory_peaks.hpp"
#include "op_table.hpp"
#include "step_times.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace::placeto_model {

/// Accounts for the memory of steps whose times are known; a workspace of one thread. After its
/// construction it allocates nothing.
class MemoryAccount {
 public:
  /// Prepares a workspace. Requires: all outlive it.
  MemoryAccount(const Problem& problem, const OpTable& table);

  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  /// Accounts for the full run that `loop` has just made, and of which these are the times.
  void after_full_run(const StepTimes& times, IdSpan<DeviceId, const PlacedOps> loads,
                      const EventLoop& loop);

  /// Accounts for an incremental run of `placement`, of which these are the times.
  void after_incremental_run(const Placement& placement, const StepTimes& times,
                             IdSpan<DeviceId, const PlacedOps> loads);

  /// Returns when the outputs of each op are freed.
  IdSpan<OpId, const double> freed_us() const { return freed_us_; }

  /// Returns the most that was taken at once on each device.
  IdSpan<DeviceId, const std::int64_t> peak_bytes() const { return peak_bytes_; }

 private:
  void free_outputs(const StepTimes& times);
  void add_persistent_bytes(IdSpan<DeviceId, const PlacedOps> loads);

  const Problem& problem_;
  const OpTable& table_;
  IdVector<OpId, double> freed_us_;
  IdVector<DeviceId, std::int64_t> peak_bytes_;

  MemoryPeaks peaks_;
  bool is_remembered_ = false;  // by `peaks_`: the incremental runs so far

  // Scratch. Ops that allocate, device by device, in order of their starts; a device has room for
  // one more op than it runs.
  std::vector<OpId> ops_;
  std::vector<double> starts_us_;
  std::vector<double> frees_us_;
  std::vector<std::int64_t> bytes_;
  IdVector<DeviceId, std::size_t> ends_;  // where the ops of each device end
};

}  // namespace emplace::placeto_model

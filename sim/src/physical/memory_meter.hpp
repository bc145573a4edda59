#pragma once

// How much memory a step takes on each device (rule 4 of the `physical` engine in
// docs/concepts/simulation.md). Frees of one instant come before its allocations, and what is taken
// and freed at once takes nothing; so peaks are counted when an instant is over.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <vector>

namespace emplace::physical {

/// Counts bytes and their peaks; a workspace of one thread.
class MemoryMeter {
 public:
  /// Makes room. Requires: `problem` outlives it.
  explicit MemoryMeter(const Problem& problem);

  /// Starts a step, with the persistent bytes of a placement.
  void start(const Placement& placement);

  void allocate(DeviceId device, std::int64_t bytes) {
    Usage& usage = usage_[device];
    usage.live_bytes += bytes;
    if (!usage.has_grown) {
      usage.has_grown = true;
      grown_.push_back(device);
    }
  }

  void free(DeviceId device, std::int64_t bytes) { usage_[device].live_bytes -= bytes; }

  /// Counts what is taken now that an instant is over.
  void end_instant();

  /// Returns the most that was taken at once on each device.
  IdSpan<DeviceId, const std::int64_t> peak_bytes() const { return peak_bytes_; }

 private:
  struct Usage {
    std::int64_t live_bytes = 0;
    bool has_grown = false;  // whether the device took memory at the present instant
  };

  const Problem& problem_;
  IdVector<DeviceId, Usage> usage_;
  IdVector<DeviceId, std::int64_t> peak_bytes_;
  std::vector<DeviceId> grown_;  // devices that took memory at the present instant
};

}  // namespace emplace::physical

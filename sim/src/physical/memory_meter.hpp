#pragma once

// How much memory a step takes on each device (rule 4 of the `physical` engine in
// docs/concepts/simulation.md). Frees of one instant come before its allocations, and what is taken
// and freed at once takes nothing. So a device's peak takes in what an instant left when something
// changes there at a later one.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <algorithm>
#include <cstdint>

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
    if (usage.instant != instant_) {
      usage.peak_bytes = std::max(usage.peak_bytes, usage.live_bytes);
      usage.instant = instant_;
    }
    usage.live_bytes += bytes;
  }

  void free(DeviceId device, std::int64_t bytes) { allocate(device, -bytes); }

  /// Says that an instant is over.
  void end_instant() { ++instant_; }

  /// Ends the step: peak_bytes() is valid from now on.
  void finish();

  /// Returns the most that was taken at once on each device.
  IdSpan<DeviceId, const std::int64_t> peak_bytes() const { return peak_bytes_; }

 private:
  struct Usage {
    std::int64_t live_bytes = 0;
    std::int64_t peak_bytes = 0;  // over the instants before `instant`
    std::int64_t instant = 0;     // of the last change
  };

  const Problem& problem_;
  IdVector<DeviceId, Usage> usage_;
  IdVector<DeviceId, std::int64_t> peak_bytes_;
  std::int64_t instant_ = 0;  // the present one
};

}  // namespace emplace::physical

#pragma once

// How long one step of a problem takes under a placement, and how much memory each device needs.
//
// The `placeto` engine reproduces the simulator released with Placeto (Addanki et al. 2019) bit for
// bit; sim/README.md states its rules and constants. A Simulator is one thread's workspace: make
// one for each thread and use it again and again. After the first run it allocates nothing. An
// out-of-memory placement is a result, not an error, and its time is still computed.
// Complexity: O(ops + edges) for a fixed number of devices, plus O(devices) for each event.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace emplace {

/// Says how a simulated step ended.
enum class StepStatus : std::uint8_t { kOk, kOutOfMemory };

/// Returns "ok" or "out_of_memory".
std::string_view to_string(StepStatus status);

/// Holds the result of one run: views into the Simulator's workspace, valid until its next run.
struct SimResult {
  StepStatus status = StepStatus::kOk;
  double makespan_us = 0;                     ///< duration of the step
  std::span<const double> start_us;           ///< by op
  std::span<const double> end_us;             ///< by op
  std::span<const double> freed_us;           ///< by op: when its outputs leave the memory
  std::span<const double> transfer_start_us;  ///< by output; negative where nothing was sent
  std::span<const double> transfer_end_us;    ///< by output
  std::span<const std::int64_t> peak_bytes;   ///< by device: persistent bytes and live outputs
  DeviceId worst_device = 0;                  ///< where memory is exceeded most, or fullest
  std::int64_t bytes_over = 0;                ///< sum over devices of what exceeds the capacity
};

class PlacetoEngine;  // private

/// Simulates placements of one problem.
class Simulator {
 public:
  /// Prepares a workspace. Requires: `problem` outlives it.
  explicit Simulator(const Problem& problem);

  Simulator(Simulator&&) noexcept;
  ~Simulator();

  /// Simulates one step. Requires: a valid device for each group.
  const SimResult& run(const Placement& placement);

 private:
  const Problem& problem_;
  std::unique_ptr<PlacetoEngine> engine_;
  SimResult result_;
};

}  // namespace emplace

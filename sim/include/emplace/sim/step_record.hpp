#pragma once

// Everything that happened in one simulated step, kept for traces, explanations and files.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/sim/placement.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace emplace {

/// How a simulated step ended.
enum class StepStatus : std::uint8_t { kOk, kOutOfMemory };

/// Returns "ok" or "out_of_memory".
std::string_view to_string(StepStatus status);

/// Describes one output on its way from one device to another. In the `placeto` model one transfer
/// serves all devices that need the output.
struct Transfer {
  static constexpr DeviceId kToAll = -1;

  OpId producer = 0;
  std::int32_t output = 0;  ///< an index into all outputs
  DeviceId from = 0;
  DeviceId to = 0;       ///< or kToAll
  double wanted_us = 0;  ///< when its producer had it
  double start_us = 0;   ///< when it started; its latency is part of the transfer
  double end_us = 0;     ///< when its consumers had it

  bool operator==(const Transfer&) const = default;
};

/// Describes memory that was taken for some time. Weights and optimizer slots, which take memory
/// for the whole step, are not included.
struct Allocation {
  enum class Kind : std::uint8_t { kOutput, kCopy, kWorkspace };
  /// Stands for all outputs of an op together, which the `placeto` model frees at once.
  static constexpr std::int32_t kAllOutputs = -1;

  OpId op = 0;              ///< the op that produced it, or works in it
  std::int32_t output = 0;  ///< an index into all outputs, or kAllOutputs; of no use to workspaces
  Kind kind = Kind::kOutput;
  DeviceId device = 0;
  double from_us = 0;
  double until_us = 0;
  std::int64_t bytes = 0;

  bool operator==(const Allocation&) const = default;
};

/// One run, by value.
struct StepRecord {
  Placement placement{0};
  StepStatus status = StepStatus::kOk;
  double makespan_us = 0;
  IdVector<OpId, double> start_us;
  IdVector<OpId, double> end_us;
  std::vector<Transfer> transfers;
  std::vector<Allocation> allocations;
  IdVector<DeviceId, std::int64_t> peak_bytes;
  DeviceId worst_device = 0;    ///< where memory is exceeded most, or fullest
  std::int64_t bytes_over = 0;  ///< sum over devices of what exceeds the capacity
};

}  // namespace emplace

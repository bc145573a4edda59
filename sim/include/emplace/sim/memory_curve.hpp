#pragma once

// The memory of devices over a simulated step, and what filled it.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace emplace {

/// The bytes that are taken from some time on.
struct MemoryPoint {
  double at_us = 0;
  std::int64_t bytes = 0;

  bool operator==(const MemoryPoint&) const = default;
};

/// Returns the bytes taken on `device`: the persistent ones at 0, and then all at each instant
/// after its frees and after its allocations, in the order in which the engine counts them
/// (allocations first in the `placeto` model, frees first in the others). Its maximum is the
/// device's peak.
std::vector<MemoryPoint> memory_curve(const Problem& problem, const StepRecord& record,
                                      DeviceId device);

/// Returns the curves of all devices in one pass: O(groups + allocations * log allocations).
IdVector<DeviceId, std::vector<MemoryPoint>> memory_curves(const Problem& problem,
                                                           const StepRecord& record);

/// Returns what is allocated on `device` at `at_us`, largest first: all that was taken by then and
/// is not freed yet. Persistent bytes are not among it. At a time of memory_curve() where the most
/// is taken, both together are that point's bytes.
std::vector<Allocation> live_allocations(const Problem& problem, const StepRecord& record,
                                         DeviceId device, double at_us);

/// Describes the first time at which more memory is taken than a device has.
struct MemoryOverflow {
  DeviceId device = 0;
  double at_us = 0;
  std::int64_t bytes_over = 0;        ///< after all that was taken at that time
  std::int64_t persistent_bytes = 0;  ///< weights and optimizer slots, all step long
  std::vector<Allocation> largest;    ///< of those alive at that time, largest first
  std::int64_t other_bytes = 0;       ///< alive, and not among the largest
};

/// Returns the first overflow of the step, with up to `max_tensors` of the live tensors; nothing if
/// all memories suffice.
std::optional<MemoryOverflow> first_overflow(const Problem& problem, const StepRecord& record,
                                             std::size_t max_tensors = 10);

}  // namespace emplace

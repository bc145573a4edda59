#pragma once

// What a GPU could compute at most, from what it says of itself: multiprocessors times clock times
// what one of them does in a cycle, which depends on the compute capability and is in the makers'
// white papers.

#include <emplace/profiles/roofline.hpp>

#include <cstdint>

namespace emplace::calibrate {

/// Says which GPU: its generation, and how much of it there is.
struct GpuRates {
  std::int32_t major = 0;  ///< of the compute capability
  std::int32_t minor = 0;
  std::int32_t multiprocessors = 0;
  double clock_khz = 0;         ///< of the multiprocessors, boosted
  double memory_clock_khz = 0;  ///< of which memory uses both edges
  std::int32_t memory_bus_bits = 0;
};

/// Returns the peak in FLOP/us, a multiply-add counted as two. A generation that is not in the
/// table has the rate of the newest one before it; one without tensor cores for a precision has
/// that of float32.
double peak_flops_per_us(const GpuRates& gpu, Precision precision);

/// Returns the bandwidth of the GPU's memory in bytes/us.
double memory_bytes_per_us(const GpuRates& gpu);

}  // namespace emplace::calibrate

#pragma once

// What follows from what devices say of themselves; none of it needs a GPU.
//
// The peak of a GPU is multiprocessors times clock times what one of them does in a cycle, which
// depends on the compute capability and is in the makers' white papers. Its own clocks show how
// fast it really runs, and what it pauses between kernels.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/profiles/roofline.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace emplace::calibrate {

/// Returns the class of a product as profiles call it, in kebab-case: "gpu-nvidia-h200" of "gpu"
/// and "NVIDIA H200".
std::string device_class_of(std::string_view kind, std::string_view product);

/// Says which GPU: its generation, and how much of it there is.
struct GpuRates {
  std::int32_t major = 0;  ///< of the compute capability
  std::int32_t minor = 0;
  std::int32_t multiprocessors = 0;
  double clock_khz = 0;         ///< of the multiprocessors, boosted
  double memory_clock_khz = 0;  ///< memory transfers data on both edges of it
  std::int32_t memory_bus_bits = 0;
};

/// Returns the peak in FLOP/us, a multiply-add counted as two. A generation that is not in the
/// table has the rate of the newest one before it; one without tensor cores for a precision has
/// that of float32.
double peak_flops_per_us(const GpuRates& gpu, Precision precision);

/// Returns the bandwidth of the GPU's memory in bytes/us.
double memory_bytes_per_us(const GpuRates& gpu);

/// What one multiprocessor and the GPU's timer showed at one moment.
struct ClockStamp {
  std::uint64_t cycles = 0;
  std::uint64_t ns = 0;
};

/// Returns the clock between two stamps of one multiprocessor; 0 if they do not tell.
double mhz_between(const ClockStamp& before, const ClockStamp& after);

/// The share of the clock that a GPU holds under load at which it counts as running at full speed.
inline constexpr double kFullClock = 0.9;

/// Returns whether a run at `mhz` counts on a GPU that holds `sustained_mhz`. A clock of 0 is not
/// known, and says nothing against a run.
RunQuality quality_at(double mhz, double sustained_mhz);

/// Returns how long a GPU pauses between two kernels that follow one another.
/// `chain_us(kernels, units)` measures a chain of so many kernels; each spins for so many units of
/// time. The slope over the number of kernels leaves out what happens once; the slopes for
/// one and for two units tell the pause from the spinning.
double launch_gap_us(const std::function<double(int kernels, int units)>& chain_us);

}  // namespace emplace::calibrate

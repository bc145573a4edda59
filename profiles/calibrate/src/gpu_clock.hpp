#pragma once

// How fast a GPU really runs, and what it pauses between kernels: from what its own clocks show.
// None of it needs a GPU.

#include <emplace/calibrate/compute_device.hpp>

#include <cstdint>
#include <functional>

namespace emplace::calibrate {

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

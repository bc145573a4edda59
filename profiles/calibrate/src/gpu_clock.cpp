#include "gpu_clock.hpp"

#include <algorithm>

namespace emplace::calibrate {
namespace {

// So many that the first and the last do not count, and so few that a stream takes them all.
constexpr int kChain = 200;

}  // namespace

double mhz_between(const ClockStamp& before, const ClockStamp& after) {
  if (after.cycles <= before.cycles || after.ns <= before.ns) {
    return 0;
  }
  return 1e3 * static_cast<double>(after.cycles - before.cycles) /
         static_cast<double>(after.ns - before.ns);
}

RunQuality quality_at(double mhz, double sustained_mhz) {
  return mhz > 0 && mhz < kFullClock * sustained_mhz ? RunQuality::kThrottled : RunQuality::kGood;
}

double launch_gap_us(const std::function<double(int kernels, int units)>& chain_us) {
  const auto kernel_us = [&](int units) {
    return (chain_us(2 * kChain, units) - chain_us(kChain, units)) / kChain;
  };
  return std::max(0.0, 2 * kernel_us(1) - kernel_us(2));
}

}  // namespace emplace::calibrate

#include "device_figures.hpp"

#include <emplace/base/error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace emplace::calibrate {
namespace {

// So many that the first and the last do not count, and so few that a stream takes them all.
constexpr int kChain = 200;

// FLOP that a multiprocessor does in a cycle, dense. From NVIDIA's white papers of the generations:
// cores x 2 for float32; for tensor cores the sheet's peak over multiprocessors and boost clock,
// where TF32 has half of float16.
struct Generation {
  std::int32_t major, minor;
  double float32, tf32, float16;
};

constexpr std::array kGenerations = {
    Generation{6, 0, 128, 128, 128},     // P100: 64 cores
    Generation{6, 1, 256, 256, 256},     // P40: 128 cores
    Generation{7, 0, 128, 128, 1024},    // V100: 64 cores; 125 TFLOP/s of 80 at 1530 MHz
    Generation{7, 5, 128, 128, 1024},    // T4: 64 cores; 65 TFLOP/s of 40 at 1590 MHz
    Generation{8, 0, 128, 1024, 2048},   // A100: 64 cores; 156 TFLOP/s of 108 at 1410 MHz
    Generation{8, 6, 256, 512, 1024},    // A40: 128 cores; 74.8 TFLOP/s of 84 at 1740 MHz
    Generation{8, 9, 256, 512, 1024},    // L40S: 128 cores; 183 TFLOP/s of 142 at 2520 MHz
    Generation{9, 0, 256, 2048, 4096},   // H100: 128 cores; 494.7 TFLOP/s of 132 at 1830 MHz
    Generation{10, 0, 256, 4096, 8192},  // B200: 128 cores; 1.1 PFLOP/s of 148 at 1850 MHz
    Generation{12, 0, 256, 512, 1024},   // RTX PRO 6000, from memory: 252 TFLOP/s of 188
};

double per_cycle(const Generation& generation, Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return generation.float32;
    case Precision::kTf32:
      return generation.tf32;
    case Precision::kFloat16:
      return generation.float16;
  }
  return generation.float32;
}

}  // namespace

std::string device_class_of(std::string_view kind, std::string_view product) {
  std::string name = std::string(kind) + '-';
  for (const char c : to_lower(product)) {
    const bool is_part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_part || name.back() != '-') {
      name += is_part ? c : '-';
    }
  }
  name.erase(name.find_last_not_of('-') + 1);
  return name;
}

double peak_flops_per_us(const GpuRates& gpu, Precision precision) {
  const auto* after = std::ranges::upper_bound(
      kGenerations, std::pair(gpu.major, gpu.minor), {},
      [](const Generation& generation) { return std::pair(generation.major, generation.minor); });
  const Generation& found = after == kGenerations.begin() ? *after : *(after - 1);
  return gpu.multiprocessors * per_cycle(found, precision) * gpu.clock_khz / 1e3;
}

double memory_bytes_per_us(const GpuRates& gpu) {
  return 2 * gpu.memory_clock_khz / 1e3 * gpu.memory_bus_bits / 8;
}

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

#pragma once

// What a calibration measured, before anything is fitted to it.

#include <emplace/calibrate/op_site.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Summarizes repeated measurements of one quantity.
struct Summary {
  double median_us = 0;
  double relative_deviation =
      0;                  ///< standard deviation over the median: 1.4826 times the median deviation
  std::int32_t runs = 0;  ///< that were kept
  std::int32_t throttled = 0;    ///< runs in which the device was below its clock
  std::int32_t lost = 0;         ///< runs dropped because the profiler lost their records
  std::int32_t interrupted = 0;  ///< runs dropped because they took over three times the median
  double mhz = 0;                ///< at which the device ran, the median; 0: unknown
  /// All runs were throttled; these were kept, because a step would be throttled, too.
  bool below_clock = false;
};

/// What one op took on one device.
struct OpSample {
  OpSite site{};
  std::string library{};  ///< OpProgram::library()
  Summary time{};         ///< with Caches::kCold, or as a framework measured it
  double warm_us = 0;     ///< the median with Caches::kWarm; 0: unknown
};

/// Names the memory at the host's end of a copy.
enum class HostMemory : std::uint8_t { kNone, kPinned, kPageable };

/// The times of one copy, or of two copies that ran at the same time.
struct CopySample {
  std::string from{};  ///< a device: "gpu:0", "cpu:0"
  std::string to{};
  HostMemory host = HostMemory::kNone;  ///< kNone where no end is the host
  std::int64_t bytes = 0;
  /// The copy that ran at the same time, "from>to", with as many bytes; empty if it ran alone.
  std::string beside{};
  Summary time{};
};

/// How long a message of four bytes takes between two devices, either way: with what it takes to
/// wait for it.
struct Message {
  std::string one{};
  std::string other{};
  double us = 0;
};

}  // namespace emplace::calibrate

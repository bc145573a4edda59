#pragma once

// The smallest valid files of this module, which tests change in one place at a time.

#include "support/errors.hpp"

#include <ostream>
#include <string>
#include <string_view>

namespace emplace {

/// A device profile with one op class.
inline constexpr std::string_view kProfileText = R"({
  "schema": "emplace-device-profile",
  "version": 1,
  "name": "tiny",
  "device_class": "gpu-tiny",
  "summary": "a device for tests",
  "peak_flops_per_s": 2e12,
  "memory_bytes_per_s": 1e11,
  "memory_bytes": 4000000000,
  "op_classes": {
    "convolution": {"fixed_us": 3, "compute_efficiency": 0.5, "memory_efficiency": 0.25}
  },
  "fallback": {"fixed_us": 10, "compute_efficiency": 0.125, "memory_efficiency": 0.0625},
  "provenance": {"kind": "measured", "source": "a test", "date": "2026-11-20", "notes": ""}
})";

/// What a calibration adds to it.
inline constexpr std::string_view kMeasuredText = R"("measured": [
    {"kind": "conv2d", "shape": [1, 2], "us": 12.5, "runs": 20, "library": "cudnn", "flops": 100, "bytes": 50},
    {"kind": "conv2d", "shape": [1, 2], "type": "bfloat16", "us": 7.5, "relative_deviation": 0.25, "runs": 30,
     "library": "cudnn", "flops": 100, "bytes": 25}
  ],
  "calibration": {
    "product": "Tiny 1", "software": "driver 1.2", "clocks": "1 GHz", "date": "2026-11-21",
    "runs_throttled": 3, "runs_lost": 4,
    "op_classes": {
      "convolution": {
        "measurements": 2,
        "interpolated": {"predicted": 1, "mean_error": 0.05, "max_error": 0.06},
        "roofline": {"predicted": 2, "mean_error": 0.5, "max_error": 1.5}
      }
    },
    "all": {
      "measurements": 2,
      "interpolated": {"predicted": 1, "mean_error": 0.05, "max_error": 0.06},
      "roofline": {"predicted": 0, "mean_error": 0, "max_error": 0}
    }
  },
  )";

/// A cluster of two shipped devices, one of which is not placeable.
inline constexpr std::string_view kClusterText = R"({
  "schema": "emplace-cluster",
  "version": 1,
  "name": "lab",
  "summary": "a cluster for tests",
  "transfer_model": "placeto",
  "placeto": {"gap_after_op_us": 1, "gap_after_transfer_us": 2, "bytes_per_us": 1000},
  "devices": [
    {"name": "gpu:0", "profile": "k80"},
    {"name": "cpu:0", "profile": "xeon-e5-2686-v4", "placeable": false}
  ],
  "provenance": {"kind": "measured", "source": "a test", "date": "2026-11-20", "notes": ""}
})";

using test::with;

/// Returns a cluster of the transfer model `physical` with these devices and constants (the insides
/// of an array and of an object).
inline std::string physical_cluster(std::string_view devices, std::string_view constants) {
  const std::size_t begin = kClusterText.find("\"transfer_model\"");
  const std::size_t end = kClusterText.find("],\n  \"provenance\"");
  std::string text(kClusterText.substr(0, begin));
  text += "\"transfer_model\": \"physical\", \"physical\": {";
  text += constants;
  text += "}, \"devices\": [";
  text += devices;
  return text.append(kClusterText.substr(end));
}

/// Two devices for physical_cluster().
inline constexpr std::string_view kTwoGpus = R"(
    {"name": "gpu:0", "profile": "k80"},
    {"name": "gpu:1", "profile": "k80"})";

/// Describes a wrong file and what its error must say.
struct HostileText {
  std::string_view name;  ///< what is wrong
  std::string text;       ///< the file
  std::string says;       ///< part of the message

  /// Prints the name, where GoogleTest would print the bytes.
  friend std::ostream& operator<<(std::ostream& out, const HostileText& hostile) {
    return out << hostile.name;
  }
};

}  // namespace emplace

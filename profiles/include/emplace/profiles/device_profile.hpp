#pragma once

// What one kind of device can do, and what an op costs on it.
//
// Costs come from a ladder, and every answer says from which rung:
//   1. kMeasured      measured for exactly this op;
//   2. kInterpolated  between measured neighbours of the same kind (comes with calibration);
//   3. kRoofline      t = t0 + max(flops / (e_c P), bytes / (e_m W)) with the efficiencies e_c, e_m
//   and
//                     the fixed time t0 of the op's class (Williams et al. 2009);
//   4. kGuess         the same formula with the profile's default efficiencies, for unknown kinds.
// P is the peak in FLOP/us, W the memory bandwidth in bytes/us. Thread-safe: a profile never
// changes.

#include <emplace/graphs/op_graph.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace emplace {

/// Says how sure a cost is; see the head of this file.
enum class CostRung : std::uint8_t { kMeasured, kInterpolated, kRoofline, kGuess };

/// Returns "measured", "interpolated", "roofline" or "guess".
std::string_view to_string(CostRung rung);

/// Holds a cost and where it came from.
struct Cost {
  double us = 0;
  CostRung rung = CostRung::kGuess;
  double spread = 0;  ///< standard deviation over the cost; 0: taken as exact
};

/// Holds the three numbers of a roofline for one class of ops, and how far they may be wrong.
struct Roofline {
  double fixed_us = 0;            ///< t0
  double compute_efficiency = 1;  ///< e_c, in (0, 1]
  double memory_efficiency = 1;   ///< e_m, in (0, 1]
  double spread = 0;              ///< of its costs: see Cost::spread; 0 to kMaxCostSpread
};

/// Tells where the numbers of a file come from.
struct Provenance {
  std::string kind{};    ///< "spec-sheet", "fitted" or "measured"
  std::string source{};  ///< what was read, fitted to or run
  std::string date{};    ///< ISO 8601
  std::string notes{};   ///< driver, residuals, caveats
};

/// Describes one kind of device.
struct DeviceProfile {
  std::string name{};              ///< kebab-case, for example "k80"
  std::string device_class{};      ///< devices of one class share measured costs: "gpu-k80"
  std::string summary{};           ///< one line
  double peak_flops_per_us = 0;    ///< P
  double memory_bytes_per_us = 0;  ///< W
  std::int64_t memory_bytes = 0;   ///< usable capacity
  std::int32_t slots = 1;          ///< ops that run at the same time (`physical` model)
  double launch_us = 0;            ///< a slot is busy this long before each op (`physical` model)
  std::array<std::optional<Roofline>, kNumOpClasses> rooflines{};  ///< by OpClass
  Roofline fallback{};  ///< for classes without one, flagged as a guess
  Provenance provenance{};
};

/// Returns the cost of `op` on a device of `profile`. An op that launches nothing costs 0.
Cost op_cost(const DeviceProfile& profile, const Op& op);

/// Reads a device profile (profiles/schema/device_profile.schema.json); `source` names it in
/// errors.
DeviceProfile read_device_profile(std::string_view text, const std::string& source);

}  // namespace emplace

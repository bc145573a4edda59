#pragma once

// What one kind of device can do, and what an op costs on it.
//
// A cost comes from the first of these sources that has one, and says from which
// (docs/concepts/costs.md):
//   1. kMeasured      measured for exactly this op: by the graph's own file, else by the profile;
//   2. kInterpolated  between measurements of the same kind and type (measurement_table.hpp);
//   3. kRoofline      t = t0 + max(flops / (e_c P), bytes / (e_m W)) with the efficiencies e_c, e_m
//                     and the fixed time t0 of the op's class (Williams et al. 2009);
//   4. kGuess         the same formula with the profile's default efficiencies, for unknown kinds.
// P is the peak in FLOP/us, W the memory bandwidth in bytes/us. Thread-safe: a profile never
// changes.

#include <emplace/graphs/op_graph.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/profiles/measurement_table.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace emplace {

/// Says how sure a cost is; see the head of this file.
enum class CostSource : std::uint8_t { kMeasured, kInterpolated, kRoofline, kGuess };

/// Returns "measured", "interpolated", "roofline" or "guess".
std::string_view to_string(CostSource source);

/// Holds a cost and where it came from.
struct Cost {
  double us = 0;
  CostSource source = CostSource::kGuess;
  double spread = 0;  ///< standard deviation over the cost; 0: taken as exact
};

/// Holds the three numbers of a roofline for one class of ops, and how far they may be wrong.
struct Roofline {
  double fixed_us = 0;            ///< t0
  double compute_efficiency = 1;  ///< e_c, in (0, 1]
  double memory_efficiency = 1;   ///< e_m, in (0, 1]
  double spread = 0;              ///< of its costs: see Cost::spread; 0 to kMaxCostSpread

  bool operator==(const Roofline&) const = default;
};

/// Says where the numbers of a file come from.
struct Provenance {
  std::string kind{};    ///< "spec-sheet", "fitted" or "measured"
  std::string source{};  ///< what was read, fitted to or run
  std::string date{};    ///< ISO 8601
  std::string notes{};   ///< driver, residuals, caveats

  bool operator==(const Provenance&) const = default;
};

/// Says how well a cost source predicts ops that it has not seen: each shape is left out in turn
/// and predicted from the others. An error is |predicted - measured| / measured.
struct PredictionError {
  std::int32_t predicted = 0;  ///< measurements that it could predict
  double mean = 0;
  double max = 0;

  bool operator==(const PredictionError&) const = default;
};

/// Sums up the measurements of one class of ops.
struct ClassCalibration {
  std::int32_t measurements = 0;
  PredictionError interpolated{};
  PredictionError roofline{};

  bool operator==(const ClassCalibration&) const = default;
};

/// Says how the measurements of a profile were made, and how good they are.
struct Calibration {
  std::string product{};            ///< what the device calls itself: "NVIDIA H200"
  std::string software{};           ///< driver, libraries and their versions
  std::string clocks{};             ///< at which it ran, in words; empty if unknown
  std::string date{};               ///< ISO 8601
  std::int64_t runs_throttled = 0;  ///< dropped since the device was below its clock
  std::int64_t runs_lost = 0;       ///< dropped since the profiler lost their records
  std::array<std::optional<ClassCalibration>, kNumOpClasses> classes{};  ///< by OpClass
  /// Of all classes together; its `roofline` is the fallback, for all ops.
  ClassCalibration all{};

  bool operator==(const Calibration&) const = default;
};

/// Describes one kind of device.
struct DeviceProfile {
  std::string name{};              ///< kebab-case, for example "k80"
  std::string device_class{};      ///< devices of one class share measured costs: "gpu-k80"
  std::string summary{};           ///< one line
  double peak_flops_per_us = 0;    ///< P
  double memory_bytes_per_us = 0;  ///< W
  std::int64_t memory_bytes = 0;   ///< that the driver reports, or a program may use
  std::int64_t context_bytes = 0;  ///< of these, what driver context and libraries occupy
  std::int64_t reserve_bytes = 0;  ///< of these, what a framework's allocator cannot hand out
  std::int32_t slots = 1;          ///< ops that run at the same time (`physical` model)
  double launch_us = 0;            ///< a slot is busy this long before each op (`physical` model)
  std::array<std::optional<Roofline>, kNumOpClasses> rooflines{};  ///< by OpClass
  Roofline fallback{};  ///< for classes without one, flagged as a guess
  MeasurementTable measured{};
  std::optional<Calibration> calibration{};  ///< of `measured`
  Provenance provenance{};

  /// Returns the bytes that weights and tensors may take.
  std::int64_t usable_bytes() const { return memory_bytes - context_bytes - reserve_bytes; }

  bool operator==(const DeviceProfile&) const = default;
};

/// Returns the cost of `op` on a device of `profile`. An op that launches nothing costs 0.
Cost op_cost(const DeviceProfile& profile, const Op& op);

/// Returns the roofline of `op_class`, or the fallback.
const Roofline& roofline_of(const DeviceProfile& profile, OpClass op_class);

/// Returns what `roofline` says of an op on a device of `profile`: microseconds.
double roofline_us(const DeviceProfile& profile, const Roofline& roofline, double flops,
                   double bytes);

/// Reads a device profile (profiles/schema/device_profile.schema.json); `source` names it in
/// errors.
DeviceProfile read_device_profile(std::string_view text, const std::string& source);

/// Returns the file of which read_device_profile() makes `profile`. The two peaks, which a file
/// gives per second, come back exactly where that is a whole number below 2^50, and else within a
/// unit of the last place.
std::string write_device_profile_json(const DeviceProfile& profile);

}  // namespace emplace

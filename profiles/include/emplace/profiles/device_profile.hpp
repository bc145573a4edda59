#pragma once

// What one kind of device can do, and what an op costs on it.
//
// A cost comes from the first of these sources that has one, and records which
// (docs/concepts/costs.md):
//   1. kMeasured      measured for exactly this op: by the graph's own file, else by the profile;
//   2. kInterpolated  between measurements of the same kind and type (measurement_table.hpp);
//   3. kRoofline      of the op's FLOPs, bytes and sizes (roofline.hpp), with the numbers of the
//                     first case of its class that selects the op, otherwise of the class;
//   4. kGuess         the same with the profile's fallback, for unknown kinds.
// Peaks are those of the precision in which the op multiplies. All but costs from the graph's own
// file are of ops that ran alone; `step_factors` make them costs in a framework's step.
// Convolutions whose images are laid out for another precision take their transposes in addition
// (transpose_us()). Thread-safe: a profile never changes.

#include <emplace/graphs/op_graph.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/profiles/measurement_table.hpp>
#include <emplace/profiles/roofline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// How certain a cost is; see the head of this file.
enum class CostSource : std::uint8_t { kMeasured, kInterpolated, kRoofline, kGuess };

/// The names of the sources, in the order of CostSource.
inline constexpr std::array<std::string_view, 4> kCostSources = {"measured", "interpolated",
                                                                 "roofline", "guess"};

/// Returns the name.
inline std::string_view to_string(CostSource source) {
  return kCostSources[static_cast<std::size_t>(source)];
}

/// A cost and where it came from.
struct Cost {
  double us = 0;
  CostSource source = CostSource::kGuess;
  double relative_deviation = 0;  ///< standard deviation over the cost; 0: taken as exact
};

/// Selects ops of a class that have a roofline of their own.
struct CostCase {
  std::vector<std::string> kinds{};  ///< of ops; empty: all of the class
  /// Selects convolutions by windows of this many rows and columns, moved by 1, undilated; 0: any.
  std::int64_t window = 0;
  std::optional<Precision> precision{};  ///< in which they multiply; none: any
  Roofline roofline{};
  std::string proxy{};  ///< the device that its numbers are from, if not this one

  bool operator==(const CostCase&) const = default;
};

/// Where the numbers of a file come from.
struct Provenance {
  std::string kind{};    ///< "spec-sheet", "fitted" or "measured"
  std::string source{};  ///< what was read, fitted to or run
  std::string date{};    ///< ISO 8601
  std::string notes{};   ///< driver, residuals, caveats

  bool operator==(const Provenance&) const = default;
};

/// How well a cost source predicts ops that it has not seen: each shape is left out in turn and
/// predicted from the others. An error is |ln(predicted / measured)|: too
/// short by half and too long by twice weigh the same.
struct PredictionError {
  std::int32_t predicted = 0;  ///< measurements that it could predict
  double mean = 0;
  double max = 0;
  double median = 0;

  bool operator==(const PredictionError&) const = default;
};

/// Summarizes the measurements of one class of ops.
struct ClassCalibration {
  std::int32_t measurements = 0;
  PredictionError interpolated{};
  PredictionError roofline{};
  PredictionError fitted{};  ///< of the measurements to which the roofline was fitted, if known

  bool operator==(const ClassCalibration&) const = default;
};

/// How the measurements of a profile were made, and how good they are.
struct Calibration {
  std::string product{};            ///< what the device calls itself: "NVIDIA H200"
  std::string software{};           ///< driver, libraries and their versions
  std::string clocks{};             ///< at which it ran, in words; empty if unknown
  std::string date{};               ///< ISO 8601
  std::int64_t runs_throttled = 0;  ///< dropped because the device was below its clock
  std::int64_t runs_lost = 0;       ///< dropped because the profiler lost their records
  std::array<std::optional<ClassCalibration>, kNumOpClasses> classes{};  ///< by OpClass
  /// Of all classes together; its `roofline` is the fallback, for all ops.
  ClassCalibration all{};

  bool operator==(const Calibration&) const = default;
};

/// The largest DeviceProfile::speed; the least is one over it.
inline constexpr double kMaxSpeed = 1e6;

/// Describes one kind of device.
struct DeviceProfile {
  std::string name{};                ///< kebab-case, for example "k80"
  std::string device_class{};        ///< devices of one class share measured costs: "gpu-k80"
  std::string summary{};             ///< one line
  double peak_flops_per_us = 0;      ///< P in float32, of the plain cores
  double tf32_flops_per_us = 0;      ///< P in TF32; 0: the device has none
  double float16_flops_per_us = 0;   ///< P in float16 and bfloat16; 0: as in float32
  std::int32_t multiprocessors = 0;  ///< 0: unknown
  double memory_bytes_per_us = 0;    ///< W
  double stream_bytes_per_us = 0;    ///< that BabelStream's triad reaches of W; 0: unknown
  std::int64_t cache_bytes = 0;      ///< of the last level; 0: unknown
  std::int64_t memory_bytes = 0;     ///< reported by the driver, or available to a program
  std::int64_t context_bytes = 0;    ///< of these, what driver context and libraries occupy
  std::int64_t reserve_bytes = 0;    ///< of these, what a framework's allocator cannot hand out
  std::int32_t slots = 1;            ///< ops that run at the same time (`physical` model)
  double speed = 1;                  ///< all costs are divided by it, for what-if questions
  double launch_us = 0;              ///< a slot is busy this long before each op (`physical` model)
  /// What ops take in a framework's step over what they take alone, by Precision.
  StepFactors step_factors = {1, 1, 1};
  std::array<std::optional<Roofline>, kNumOpClasses> rooflines{};  ///< by OpClass
  std::array<std::vector<CostCase>, kNumOpClasses> cases{};  ///< by OpClass; the first that fits
  Roofline fallback{};  ///< for classes without one, flagged as a guess
  MeasurementTable measured{};
  std::optional<Calibration> calibration{};  ///< of `measured`
  Provenance provenance{};

  /// Returns the bytes that weights and tensors may take.
  std::int64_t usable_bytes() const { return memory_bytes - context_bytes - reserve_bytes; }

  bool operator==(const DeviceProfile&) const = default;
};

/// Returns the cost of `op` on a device of `profile`. An op that launches nothing costs 0.
Cost op_cost(const DeviceProfile& profile, const Op& op, MathMode math = MathMode::kFramework);

/// Returns how long the images of a convolution take to be laid out as its precision needs, before
/// and after, if its attribute `layout` says otherwise: cuDNN multiplies float32 as NCHW, float16
/// and bfloat16 on tensor cores as NHWC, and TF32 as either. Each byte is read and written once.
double transpose_us(const DeviceProfile& profile, const Op& op, Precision precision);

/// Returns the precision in which an op of `kind` on numbers of `type` multiplies on a device of
/// `profile`: only convolutions and products use any other than kFloat32.
Precision precision_of(const DeviceProfile& profile, std::string_view kind, DataType type,
                       MathMode math = MathMode::kFramework);

/// Returns the rates of a device of `profile` in `precision`.
DeviceRates rates_of(const DeviceProfile& profile, Precision precision);

/// Returns whether `which` selects ops of this kind, shape and precision, which are of its class.
bool selects(const CostCase& which, std::string_view kind, std::span<const std::int64_t> shape,
             Precision precision);

/// Returns the roofline of the first case that selects an op, that of its class, or the fallback.
const Roofline& roofline_of(const DeviceProfile& profile, std::string_view kind,
                            std::span<const std::int64_t> shape, Precision precision);

/// Returns the time that the profile's roofline predicts for an op that was measured: microseconds.
double roofline_us(const DeviceProfile& profile, const OpMeasurement& measurement);

/// Reads a device profile (profiles/schema/device_profile.schema.json); `source` names it in
/// errors.
DeviceProfile read_device_profile(std::string_view text, const std::string& source);

/// Returns the file from which read_device_profile() makes `profile`. The peaks, which a file gives
/// per second, are read back exactly if they are whole numbers below 2^50, and otherwise within a
/// unit of the last place.
std::string write_device_profile_json(const DeviceProfile& profile);

}  // namespace emplace

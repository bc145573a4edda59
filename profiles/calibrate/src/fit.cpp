#include "roofline_fit.hpp"

#include <emplace/calibrate/fit.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/profiles/op_key.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

using Shape = std::vector<std::int64_t>;

// Where nothing was measured, the efficiencies are anybody's guess, and so is the spread.
constexpr Roofline kGuess = {
    .fixed_us = 5, .compute_efficiency = 0.1, .memory_efficiency = 0.5, .spread = kMaxCostSpread};

constexpr double kPerSecond = 1e6;

WorkSample work_of(const OpMeasurement& measurement) {
  return {.flops = static_cast<double>(measurement.flops),
          .bytes = static_cast<double>(measurement.bytes),
          .us = measurement.us};
}

bool was_measured(const OpSample& sample) {
  return sample.time.runs > 0 && sample.time.median_us > 0;
}

std::vector<OpMeasurement> measurements_of(std::span<const OpSample> samples) {
  std::vector<OpMeasurement> measurements;
  for (const OpSample& sample : samples) {
    if (was_measured(sample)) {
      const Op& op = sample.site.op;
      measurements.push_back({.key = key_of(op),
                              .us = sample.time.median_us,
                              .spread = std::min(sample.time.spread, kMaxCostSpread),
                              .runs = sample.time.runs,
                              .library = sample.library,
                              .flops = op.flops,
                              .bytes = op.bytes_read + op.bytes_written});
    }
  }
  return measurements;
}

std::string name_of(const OpKey& key) {
  return fmt::format("{} [{}] {}", key.kind, fmt::join(key.shape, ", "), to_string(key.type));
}

// Sums up errors of predictions.
class ErrorSum {
 public:
  void add(double predicted_us, double measured_us) {
    const double error = std::abs(predicted_us - measured_us) / measured_us;
    ++predicted_;
    sum_ += error;
    max_ = std::max(max_, error);
  }

  void add(const PredictionError& error) {
    predicted_ += error.predicted;
    sum_ += error.mean * error.predicted;
    max_ = std::max(max_, error.max);
  }

  PredictionError result() const {
    return {.predicted = predicted_, .mean = predicted_ > 0 ? sum_ / predicted_ : 0, .max = max_};
  }

 private:
  std::int32_t predicted_ = 0;
  double sum_ = 0;
  double max_ = 0;
};

// A roofline, and what it and estimates that lean on it are worth for shapes that were left out.
struct Validated {
  Roofline roofline{};
  PredictionError roofline_error{};
  PredictionError estimate_error{};
};

std::vector<WorkSample> work_of(std::span<const OpMeasurement> measurements) {
  std::vector<WorkSample> samples;
  for (const OpMeasurement& measurement : measurements) {
    samples.push_back(work_of(measurement));
  }
  return samples;
}

std::vector<OpMeasurement> without(std::span<const OpMeasurement> measurements,
                                   const Shape& shape) {
  std::vector<OpMeasurement> others;
  std::ranges::copy_if(
      measurements, std::back_inserter(others),
      [&](const OpMeasurement& measurement) { return measurement.key.shape != shape; });
  return others;
}

// Fits a roofline to measurements of kMinFitShapes shapes or more; nothing if there are fewer.
std::optional<Validated> fit_and_validate(std::span<const OpMeasurement> measurements,
                                          const PeakRates& peaks) {
  std::set<Shape> shapes;
  for (const OpMeasurement& measurement : measurements) {
    shapes.insert(measurement.key.shape);
  }
  if (shapes.size() < kMinFitShapes) {
    return std::nullopt;
  }
  Validated validated{.roofline = fit_roofline(work_of(measurements), peaks)};
  ErrorSum roofline_errors;
  ErrorSum estimate_errors;
  for (const Shape& shape : shapes) {
    std::vector<OpMeasurement> others = without(measurements, shape);
    const Roofline roofline = refit_roofline(work_of(others), peaks, validated.roofline);
    const MeasurementTable table(std::move(others));
    for (const OpMeasurement& measurement : measurements) {
      if (measurement.key.shape != shape) {
        continue;
      }
      const WorkSample work = work_of(measurement);
      const TimeEstimate expected = {.us = predicted_us(roofline, peaks, work)};
      roofline_errors.add(expected.us, measurement.us);
      if (const auto estimate = table.estimate(measurement.key.kind, measurement.key.type,
                                               work.flops, work.bytes, expected)) {
        estimate_errors.add(estimate->us, measurement.us);
      }
    }
  }
  validated.roofline_error = roofline_errors.result();
  validated.estimate_error = estimate_errors.result();
  validated.roofline.spread =
      std::min(std::sqrt(std::numbers::pi / 2) * validated.roofline_error.mean, kMaxCostSpread);
  return validated;
}

// Returns a rate no less than `rate`, of whole units per second, as a profile's file keeps it.
double whole_per_second(double rate) { return std::ceil(rate * kPerSecond) / kPerSecond; }

// Raises a peak to what the fastest measurement did, and says so.
void raise_peak(double& peak, std::span<const OpMeasurement> measurements,
                double (*rate_of)(const WorkSample&), std::string_view unit, std::string& notes) {
  const OpMeasurement* fastest = nullptr;
  double most = peak;
  for (const OpMeasurement& measurement : measurements) {
    const double rate = rate_of(work_of(measurement));
    if (rate > most) {
      most = rate;
      fastest = &measurement;
    }
  }
  if (fastest != nullptr) {
    const double raised = whole_per_second(most);
    notes += fmt::format(" The peak of {:.4g} {}/s is raised to {:.4g}, which {} reached.",
                         peak * kPerSecond, unit, raised * kPerSecond, name_of(fastest->key));
    peak = raised;
  }
}

std::string counts(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Fits the classes of a profile whose measurements and peaks are set.
void fit_classes(DeviceProfile& profile, std::string& notes) {
  const std::vector<OpMeasurement>& all = profile.measured.all();
  const PeakRates peaks = {.flops_per_us = profile.peak_flops_per_us,
                           .bytes_per_us = profile.memory_bytes_per_us};
  std::vector<std::string> too_few;
  ErrorSum estimate_errors;
  for (std::size_t at = 0; at < kNumOpClasses; ++at) {
    const auto op_class = static_cast<OpClass>(at);
    std::vector<OpMeasurement> own;
    std::ranges::copy_if(all, std::back_inserter(own), [&](const OpMeasurement& measurement) {
      return op_class_of(measurement.key.kind) == op_class;
    });
    // Unknown kinds have no class of their own: theirs is the fallback.
    if (own.empty() || op_class == OpClass::kOther) {
      continue;
    }
    ClassCalibration& calibration = profile.calibration->classes[at].emplace();
    calibration.measurements = static_cast<std::int32_t>(own.size());
    if (const auto fitted = fit_and_validate(own, peaks)) {
      profile.rooflines[at] = fitted->roofline;
      calibration.interpolated = fitted->estimate_error;
      calibration.roofline = fitted->roofline_error;
      estimate_errors.add(fitted->estimate_error);
    } else {
      too_few.push_back(
          fmt::format("{} ({})", to_string(op_class), counts(own.size(), "measurement")));
    }
  }
  ClassCalibration& calibration = profile.calibration->all;
  calibration.measurements = static_cast<std::int32_t>(all.size());
  calibration.interpolated = estimate_errors.result();
  profile.fallback = kGuess;
  if (const auto fitted = fit_and_validate(all, peaks)) {
    profile.fallback = fitted->roofline;
    calibration.roofline = fitted->roofline_error;
  } else {
    notes += " Too few shapes for any roofline: the fallback is a guess.";
  }
  if (!too_few.empty()) {
    notes +=
        fmt::format(" Too few shapes for a roofline of its own: {}.", fmt::join(too_few, ", "));
  }
}

}  // namespace

DeviceProfile fit_device_profile(const DeviceFacts& facts, std::span<const OpSample> samples,
                                 const ProfileHeader& header) {
  EMPLACE_CHECK(facts.peak_flops_per_us > 0 && facts.memory_bytes_per_us > 0,
                "{} FLOP/us, {} bytes/us", facts.peak_flops_per_us, facts.memory_bytes_per_us);
  DeviceProfile profile;
  profile.name = header.name;
  profile.device_class = facts.device_class;
  profile.summary = header.summary;
  profile.peak_flops_per_us = facts.peak_flops_per_us;
  profile.memory_bytes_per_us = facts.memory_bytes_per_us;
  profile.memory_bytes = facts.memory_bytes;
  profile.launch_us = header.launch_us;
  profile.measured = MeasurementTable(measurements_of(samples));
  profile.calibration = Calibration{.product = facts.product,
                                    .software = facts.software,
                                    .clocks = header.clocks,
                                    .date = header.date};
  std::size_t without_runs = 0;
  for (const OpSample& sample : samples) {
    profile.calibration->runs_throttled += sample.time.throttled;
    profile.calibration->runs_lost += sample.time.lost;
    without_runs += was_measured(sample) ? 0 : 1;
  }

  const std::vector<OpMeasurement>& all = profile.measured.all();
  std::string notes = counts(all.size(), "measurement") + '.';
  if (without_runs > 0) {
    notes += fmt::format(" No run was kept of {}.", counts(without_runs, "op"));
  }
  raise_peak(
      profile.peak_flops_per_us, all, [](const WorkSample& work) { return work.flops / work.us; },
      "FLOP", notes);
  raise_peak(
      profile.memory_bytes_per_us, all, [](const WorkSample& work) { return work.bytes / work.us; },
      "bytes", notes);
  fit_classes(profile, notes);
  profile.provenance = {
      .kind = "measured", .source = header.source, .date = header.date, .notes = notes};
  return profile;
}

}  // namespace emplace::calibrate

#include "class_fit.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/counted.hpp>
#include <emplace/calibrate/fit.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/profiles/op_key.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

// Where nothing was measured, the efficiencies are anybody's guess, and so is the relative
// deviation.
constexpr Roofline kGuess = {.fixed_us = 5,
                             .compute_efficiency = 0.1,
                             .memory_efficiency = 0.5,
                             .relative_deviation = kMaxRelativeDeviation};

constexpr double kPerSecond = 1e6;

bool was_measured(const OpSample& sample) {
  return sample.time.runs > 0 && sample.time.median_us > 0;
}

// At which clocks the device ran ops.
std::string describe_clocks(std::span<const OpSample> samples) {
  std::vector<double> clocks;
  for (const OpSample& sample : samples) {
    if (sample.time.mhz > 0) {
      clocks.push_back(sample.time.mhz);
    }
  }
  if (clocks.empty()) {
    return "";
  }
  const auto [least, most] = std::ranges::minmax(clocks);
  return fmt::format("multiprocessors {:.0f} to {:.0f} MHz, {} ops", least, most, clocks.size());
}

std::vector<OpMeasurement> measurements_of(std::span<const OpSample> samples) {
  std::vector<OpMeasurement> measurements;
  for (const OpSample& sample : samples) {
    if (was_measured(sample)) {
      const Op& op = sample.site.op;
      measurements.push_back(
          {.key = key_of(op),
           .us = sample.time.median_us,
           .relative_deviation = std::min(sample.time.relative_deviation, kMaxRelativeDeviation),
           .warm_us = sample.warm_us,
           .runs = sample.time.runs,
           .library = sample.library,
           .flops = op.flops,
           .bytes = op.bytes_read + op.bytes_written});
    }
  }
  return measurements;
}

// Adds the errors of estimates for the own samples of a part, each between samples of other shapes
// and leaning on what a fit to these predicts.
void add_estimates(const FittedPart& part, std::vector<double>& errors) {
  const std::vector<std::size_t> folds = folds_of(part.samples);
  for (std::size_t fold = 0; fold <= std::ranges::max(folds); ++fold) {
    std::vector<OpMeasurement> others;
    for (std::size_t at = 0; at < folds.size(); ++at) {
      if (folds[at] != fold) {
        const auto& [work, rates, us, floor] = part.samples[at].sample;
        others.push_back({.key = part.samples[at].key,
                          .us = us,
                          .flops = static_cast<std::int64_t>(work.flops),
                          .bytes = static_cast<std::int64_t>(work.bytes)});
      }
    }
    const MeasurementTable table(std::move(others));
    for (const std::size_t at : part.own) {
      if (folds[at] != fold) {
        continue;
      }
      const OpKey& key = part.samples[at].key;
      const auto& [work, rates, us, floor] = part.samples[at].sample;
      if (const auto estimate = table.estimate(key.kind, key.type, work.flops, work.bytes,
                                               {.us = part.fit.held_out_us[at]})) {
        errors.push_back(error_of(estimate->us, us));
      }
    }
  }
}

// Returns a rate no less than `rate`, of whole units per second, as a profile's file keeps it.
double whole_per_second(double rate) { return std::ceil(rate * kPerSecond) / kPerSecond; }

// Raises a peak to what the fastest measurement did, and says so.
template <class RateOf>
void raise_peak(double& peak, std::span<const OpMeasurement> measurements, RateOf rate_of,
                std::string_view unit, std::string& notes) {
  const OpMeasurement* fastest = nullptr;
  double most = peak;
  for (const OpMeasurement& measurement : measurements) {
    const double rate = rate_of(measurement);
    if (rate > most) {
      most = rate;
      fastest = &measurement;
    }
  }
  if (fastest != nullptr) {
    const double raised = whole_per_second(most);
    notes += fmt::format(" The peak of {:.4g} {}/s is raised to {:.4g}, which {} reached.",
                         peak * kPerSecond, unit, raised * kPerSecond, to_string(fastest->key));
    peak = raised;
  }
}

// Fits the classes of a profile whose measurements and peaks are set.
void fit_classes(DeviceProfile& profile, Calibration& calibration, std::string& notes) {
  // A time no longer than its own deviation, as of a bias within its product, tells no rate.
  std::vector<ClassSample> all;
  for (const OpMeasurement& of : profile.measured.all()) {
    if (of.relative_deviation < kMaxRelativeDeviation) {
      all.push_back(class_sample(profile, of.key, of.flops, of.bytes, of.us, MathMode::kTf32));
    }
  }
  std::vector<std::string> too_few;
  std::vector<double> all_estimates;
  for (std::size_t at = 0; at < kNumOpClasses; ++at) {
    const auto op_class = static_cast<OpClass>(at);
    std::vector<ClassSample> own;
    std::ranges::copy_if(all, std::back_inserter(own), [&](const ClassSample& sample) {
      return op_class_of(sample.key.kind) == op_class;
    });
    // Unknown kinds have no class of their own: theirs is the fallback.
    if (own.empty() || op_class == OpClass::kOther) {
      continue;
    }
    ClassCalibration& of_class = calibration.classes[at].emplace();
    of_class.measurements = static_cast<std::int32_t>(own.size());
    const auto fitted = fit_class(op_class, own, {});
    if (!fitted) {
      too_few.push_back(
          fmt::format("{} ({})", to_string(op_class), counted(std::ssize(own), "measurement")));
      continue;
    }
    std::vector<double> estimates;
    add_estimates(fitted->whole, estimates);
    profile.rooflines[at] = fitted->whole.which.roofline;
    for (const FittedPart& part : fitted->cases) {
      add_estimates(part, estimates);
      profile.cases[at].push_back(part.which);
    }
    of_class.interpolated = summary_of(estimates);
    of_class.roofline = summary_of(fitted->all(&FittedRoofline::held_out));
    all_estimates.insert(all_estimates.end(), estimates.begin(), estimates.end());
  }
  ClassCalibration& of_all = calibration.all;
  of_all.measurements = static_cast<std::int32_t>(all.size());
  of_all.interpolated = summary_of(all_estimates);
  profile.fallback = kGuess;
  if (const auto fitted = fit_samples(OpClass::kOther, all, {})) {
    profile.fallback = fitted->form.roofline;
    of_all.roofline = summary_of(fitted->held_out);
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
                                 const std::string& date, double launch_us) {
  EMPLACE_CHECK(facts.peak_flops_per_us > 0 && facts.memory_bytes_per_us > 0,
                "{} FLOP/us, {} bytes/us", facts.peak_flops_per_us, facts.memory_bytes_per_us);
  DeviceProfile profile;
  profile.name = facts.device_class + "-measured";
  profile.device_class = facts.device_class;
  profile.summary = fmt::format("{}, measured", facts.product);
  profile.peak_flops_per_us = facts.peak_flops_per_us;
  profile.tf32_flops_per_us = facts.tf32_flops_per_us;
  profile.float16_flops_per_us = facts.float16_flops_per_us;
  profile.memory_bytes_per_us = facts.memory_bytes_per_us;
  profile.memory_bytes = facts.memory_bytes;
  profile.context_bytes = facts.context_bytes;
  profile.multiprocessors = facts.kind == DeviceKind::kGpu ? facts.compute_units : 0;
  profile.launch_us = launch_us;
  profile.measured = MeasurementTable(measurements_of(samples));
  Calibration& calibration =
      profile.calibration.emplace(Calibration{.product = facts.product,
                                              .software = facts.software,
                                              .clocks = describe_clocks(samples),
                                              .date = date});
  std::size_t without_runs = 0;
  for (const OpSample& sample : samples) {
    const Summary& time = sample.time;
    // Of an op that was measured below the clock, the throttled runs of one attempt were kept.
    calibration.runs_throttled +=
        time.throttled - (time.below_clock ? time.runs + time.interrupted : 0);
    calibration.runs_lost += time.lost;
    without_runs += was_measured(sample) ? 0 : 1;
  }

  const std::vector<OpMeasurement>& all = profile.measured.all();
  std::string notes = counted(std::ssize(all), "measurement") + '.';
  if (without_runs > 0) {
    notes += fmt::format(" No run was kept of {}.", counted(without_runs, "op"));
  }
  const auto raise_flops = [&](Precision precision, double& peak) {
    if (peak > 0) {
      raise_peak(
          peak, all,
          [&](const OpMeasurement& of) {
            return precision_of(profile, of.key.kind, of.key.type, MathMode::kTf32) == precision
                       ? static_cast<double>(of.flops) / of.us
                       : 0;
          },
          fmt::format("{} FLOP", to_string(precision)), notes);
    }
  };
  raise_flops(Precision::kFloat32, profile.peak_flops_per_us);
  raise_flops(Precision::kTf32, profile.tf32_flops_per_us);
  raise_flops(Precision::kFloat16, profile.float16_flops_per_us);
  raise_peak(
      profile.memory_bytes_per_us, all,
      [](const OpMeasurement& of) { return static_cast<double>(of.bytes) / of.us; }, "bytes",
      notes);
  fit_classes(profile, calibration, notes);
  profile.provenance = {
      .kind = "measured", .source = "emplace calibrate", .date = date, .notes = notes};
  return profile;
}

}  // namespace emplace::calibrate

#include "class_fit.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/calibrate/fit.hpp>
#include <emplace/calibrate/sample_fit.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace emplace::calibrate {
namespace {

// Classes whose ops do little but move their data: without samples they run as elementwise ops do.
constexpr std::array kMovingClasses = {OpClass::kNormalization, OpClass::kPooling,
                                       OpClass::kDataMovement, OpClass::kReduction,
                                       OpClass::kUpdate};

double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

Roofline rounded(Roofline roofline) {
  auto& [small, smaller] = roofline.tile_efficiencies;
  for (double* const number :
       {&roofline.fixed_us, &roofline.compute_efficiency, &roofline.memory_efficiency,
        &roofline.relative_deviation, &small, &smaller}) {
    *number = rounded(*number);
  }
  return roofline;
}

PredictionError rounded(PredictionError error) {
  for (double* const number : {&error.mean, &error.max, &error.median}) {
    *number = rounded(*number);
  }
  return error;
}

double proxy_deviation(double relative_deviation) {
  return rounded(std::min(
      std::sqrt(relative_deviation * relative_deviation + kProxyDeviation * kProxyDeviation),
      kMaxRelativeDeviation));
}

// Adds to the relative deviation of a case what its proxy, if it has one, may be off.
CostCase with_proxy_deviation(CostCase which) {
  if (!which.proxy.empty()) {
    which.roofline.relative_deviation = proxy_deviation(which.roofline.relative_deviation);
  }
  return which;
}

// Whether ops of a class are bound by memory alone.
bool is_moving(OpClass op_class) {
  return op_class != OpClass::kConvolution && op_class != OpClass::kMatmul &&
         op_class != OpClass::kDepthwiseConvolution;
}

// Leaves out samples of which part never leaves the cache, if the others are of enough shapes.
std::vector<ClassSample> without_cached(std::vector<ClassSample> samples) {
  std::vector<ClassSample> rest;
  std::ranges::copy_if(samples, std::back_inserter(rest),
                       [](const ClassSample& sample) { return !sample.is_cached; });
  return num_shapes(rest) < kMinFitShapes ? std::move(samples) : std::move(rest);
}

// Returns the samples of a class by the first of the cases that selects them, without those of
// which part never leaves the cache where there are enough others.
std::vector<std::vector<ClassSample>> by_case(std::span<const ClassSample> samples,
                                              OpClass op_class, std::span<const CostCase> cases) {
  std::vector<std::vector<ClassSample>> found(cases.size());
  for (const ClassSample& sample : samples) {
    const auto first = std::ranges::find_if(cases, [&](const CostCase& which) {
      return op_class_of(sample.key.kind) == op_class &&
             selects(which, sample.key.kind, sample.key.shape, sample.precision);
    });
    if (first != cases.end()) {
      found[static_cast<std::size_t>(first - cases.begin())].push_back(sample);
    }
  }
  std::ranges::transform(found, found.begin(), without_cached);
  return found;
}

// Returns the precisions in which ops of a class multiply on a device.
std::vector<Precision> precisions_of(const DeviceProfile& profile, OpClass op_class) {
  std::vector<Precision> all = {Precision::kFloat32};
  if (op_class == OpClass::kConvolution || op_class == OpClass::kMatmul) {
    if (profile.tf32_flops_per_us > 0) {
      all.push_back(Precision::kTf32);
    }
    if (profile.float16_flops_per_us > 0) {
      all.push_back(Precision::kFloat16);
    }
  }
  return all;
}

// Returns what products in some precision reach of the peak; nothing if there are too few samples.
std::optional<double> gemm_efficiency(std::span<const ClassSample> samples, Precision precision) {
  std::vector<ClassSample> products;
  std::ranges::copy_if(samples, std::back_inserter(products), [&](const ClassSample& sample) {
    return op_class_of(sample.key.kind) == OpClass::kMatmul && sample.precision == precision;
  });
  const auto fitted = fit_samples(OpClass::kMatmul, products, {});
  return fitted ? std::optional(fitted->form.roofline.compute_efficiency) : std::nullopt;
}

// Fits a profile class by class.
class ProfileFit {
 public:
  ProfileFit(const DeviceProfile& base, std::span<const SampleTable> tables,
             std::span<const SampleTable> proxies, const std::string& date)
      : profiles_{{base.name, base}},
        own_(samples_of(tables, false)),
        proxies_(samples_of(proxies, true)) {
    fit_.profile = base;
    calibration_.date = date;
    for (std::size_t at = 0; at < kPrecisions.size(); ++at) {
      const auto precision = static_cast<Precision>(at);
      const std::optional<double> own_part = gemm_efficiency(own_, precision);
      const std::optional<double> proxy_part = gemm_efficiency(proxies_, precision);
      proxy_peaks_[at] = own_part && proxy_part ? *proxy_part / *own_part : 1;
    }
  }

  SampleFit run() {
    std::vector<double> all;
    for (std::size_t at = 0; at < static_cast<std::size_t>(OpClass::kOther); ++at) {
      fit(static_cast<OpClass>(at), all);
    }
    tell_unknown_kinds();
    move_as_elementwise();
    calibration_.all.roofline = rounded(summary_of(all));
    calibration_.all.measurements = calibration_.all.roofline.predicted;
    fit_.profile.calibration = std::move(calibration_);
    return std::move(fit_);
  }

 private:
  // Turns rows into samples, with the rates of the devices on which they ran.
  std::vector<ClassSample> samples_of(std::span<const SampleTable> tables, bool are_proxies) {
    std::vector<ClassSample> samples;
    for (const SampleTable& table : tables) {
      for (const TableSample& row : table.samples) {
        const DeviceProfile& profile = profile_of(row.device);
        const SampleSource& source = table.sources[row.source];
        ClassSample sample =
            class_sample(profile, row.key, row.flops, row.bytes, row.us, MathMode::kFloat32);
        if (source.has_launch_floor) {
          const auto key = std::tuple(source.name, row.device, row.key.kind);
          sample.sample.floor =
              floors_.emplace(key, static_cast<std::int32_t>(floors_.size())).first->second;
        }
        sample.is_cached =
            is_moving(op_class_of(row.key.kind)) && row.bytes < kCaches * profile.cache_bytes;
        if (are_proxies) {
          sample.proxy = row.device;
        }
        samples.push_back(std::move(sample));
      }
    }
    // Sums of floating-point numbers depend on their order.
    std::ranges::sort(samples, {}, [](const ClassSample& sample) {
      return std::tuple(sample.key, sample.sample.us, sample.sample.rates.flops_per_us);
    });
    return samples;
  }

  const DeviceProfile& profile_of(const std::string& name) {
    const auto [found, is_new] = profiles_.try_emplace(name);
    if (is_new) {
      found->second = load_device_profile(name);
    }
    return found->second;
  }

  // Returns the device's own samples of a case, or those of proxies if they are of too few shapes
  // and those of proxies are not.
  std::vector<ClassSample> samples_for(OpClass op_class, Precision precision) const {
    std::vector<CostCase> cases = possible_cases(op_class, precision);
    cases.push_back({.precision = precision});
    std::vector<std::vector<ClassSample>> own = by_case(own_, op_class, cases);
    std::vector<std::vector<ClassSample>> proxies = by_case(proxies_, op_class, cases);
    std::vector<ClassSample> all;
    for (std::size_t at = 0; at < cases.size(); ++at) {
      std::vector<ClassSample>& found = own[at];
      if (num_shapes(found) < kMinFitShapes &&
          (found.empty() || num_shapes(proxies[at]) >= kMinFitShapes)) {
        found = std::move(proxies[at]);
        if (op_class == OpClass::kConvolution) {
          for (ClassSample& sample : found) {
            sample.sample.rates.flops_per_us *= proxy_peaks_[static_cast<std::size_t>(precision)];
          }
        }
      }
      std::ranges::move(found, std::back_inserter(all));
    }
    if (precision == Precision::kTf32 && all.empty()) {
      all = samples_for(op_class, Precision::kFloat16);
      for (ClassSample& sample : all) {
        sample.precision = Precision::kTf32;
        sample.proxy += sample.proxy.empty() ? "float16" : " float16";
      }
    }
    return all;
  }

  void fit(OpClass op_class, std::vector<double>& all) {
    std::vector<ClassSample> samples;
    for (const Precision precision : precisions_of(fit_.profile, op_class)) {
      std::ranges::move(samples_for(op_class, precision), std::back_inserter(samples));
    }
    // What memory bounds tells nothing of compute: that is left to the base.
    const bool moves = is_moving(op_class);
    if (moves) {
      for (ClassSample& sample : samples) {
        sample.sample.work.flops = 0;
      }
    }
    const auto at = static_cast<std::size_t>(op_class);
    FormBounds bounds;
    if (op_class == OpClass::kConvolution) {
      bounds.max_compute_efficiency = kMaxComputeEfficiency;
    }
    if (moves && fit_.profile.stream_bytes_per_us > 0) {
      bounds.max_memory_efficiency =
          fit_.profile.stream_bytes_per_us / fit_.profile.memory_bytes_per_us;
    }
    const std::optional<Roofline> known = fit_.profile.rooflines[at];
    if (known) {
      bounds.fixed_us = known->fixed_us;
    }
    const std::optional<FittedClass> fitted = fit_class(op_class, samples, bounds);
    if (!fitted) {
      if (!samples.empty()) {
        fit_.unused.push_back(fmt::format("{} of {}: fewer than {} shapes",
                                          counted(std::ssize(samples), "sample"),
                                          to_string(op_class), kMinFitShapes));
      }
      return;
    }
    CostCase whole = fitted->whole.which;
    whole.roofline = rounded(whole.roofline);
    if (moves && known) {
      whole.roofline.compute_efficiency = known->compute_efficiency;
    }
    std::vector<CostCase>& cases = fit_.profile.cases[at];
    fit_.profile.rooflines[at] = whole.roofline;
    cases.clear();
    report(op_class, whole, fitted->whole.fit);
    for (const FittedPart& part : fitted->cases) {
      CostCase which = part.which;
      which.roofline = rounded(which.roofline);
      report(op_class, which, part.fit);
      cases.push_back(with_proxy_deviation(which));
    }
    // What a class has of proxies stands in a case that names them.
    if (!whole.proxy.empty()) {
      if (precisions_of(fit_.profile, op_class).size() > 1) {
        whole.precision = Precision::kFloat32;
      }
      cases.push_back(with_proxy_deviation(whole));
    }
    const std::vector<double> held_out = fitted->all(&FittedRoofline::held_out);
    ClassCalibration& calibration = calibration_.classes[at].emplace();
    calibration.measurements = static_cast<std::int32_t>(samples.size());
    calibration.roofline = rounded(summary_of(held_out));
    calibration.fitted = rounded(summary_of(fitted->all(&FittedRoofline::errors)));
    all.insert(all.end(), held_out.begin(), held_out.end());
  }

  void report(OpClass op_class, const CostCase& which, const FittedRoofline& fit) {
    fit_.reports.push_back({.op_class = op_class,
                            .which = which,
                            .errors = summary_of(fit.errors),
                            .held_out = summary_of(fit.held_out)});
  }

  void tell_unknown_kinds() {
    std::map<std::string, std::int64_t> counts;
    for (const std::vector<ClassSample>* samples : {&own_, &proxies_}) {
      for (const ClassSample& sample : *samples) {
        if (op_class_of(sample.key.kind) == OpClass::kOther) {
          ++counts[sample.key.kind];
        }
      }
    }
    for (const auto& [kind, count] : counts) {
      fit_.unused.push_back(fmt::format("{} of the kind '{}': it belongs to no class",
                                        counted(count, "sample"), excerpt(kind)));
    }
  }

  // Gives classes without samples what elementwise ops reach.
  void move_as_elementwise() {
    const auto elementwise = static_cast<std::size_t>(OpClass::kElementwise);
    const std::optional<Roofline>& found = fit_.profile.rooflines[elementwise];
    if (!calibration_.classes[elementwise] || !found) {
      return;
    }
    const Roofline moving = *found;
    for (const OpClass op_class : kMovingClasses) {
      const auto at = static_cast<std::size_t>(op_class);
      if (!calibration_.classes[at]) {
        Roofline roofline = moving;
        roofline.relative_deviation = proxy_deviation(roofline.relative_deviation);
        fit_.profile.rooflines[at] = roofline;
        fit_.profile.cases[at].clear();
      }
    }
  }

  std::map<std::string, DeviceProfile> profiles_;
  std::map<std::tuple<std::string, std::string, std::string>, std::int32_t> floors_;
  std::vector<ClassSample> own_;
  std::vector<ClassSample> proxies_;
  // The peaks of proxies, for their convolutions, of which the own products reach what theirs do.
  std::array<double, kPrecisions.size()> proxy_peaks_{};
  SampleFit fit_;
  Calibration calibration_;
};

// Tells of the sources of what was fitted to: "LOCATION VERSION (LICENCE): 12 samples of v100".
std::vector<std::string> sources_of(std::span<const SampleTable> tables,
                                    const Calibration& calibration) {
  std::vector<std::string> texts;
  for (const SampleTable& table : tables) {
    std::map<std::pair<std::size_t, std::string>, int> counts;
    for (const TableSample& sample : table.samples) {
      if (calibration.classes[static_cast<std::size_t>(op_class_of(sample.key.kind))]) {
        ++counts[{sample.source, sample.device}];
      }
    }
    for (const auto& [key, count] : counts) {
      const SampleSource& source = table.sources[key.first];
      texts.push_back(fmt::format("{} {} ({}), {} samples of {}", source.location, source.version,
                                  source.licence, count, key.second));
    }
  }
  return texts;
}

}  // namespace

SampleFit fit_to_samples(const DeviceProfile& base, std::span<const SampleTable> tables,
                         std::span<const SampleTable> proxies, const std::string& date) {
  SampleFit fit = ProfileFit(base, tables, proxies, date).run();
  const Calibration calibration = fit.profile.calibration.value_or(Calibration());
  if (fit.reports.empty()) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format(
            "nothing to fit to: no class of ops has samples of {} shapes{}", kMinFitShapes,
            fit.unused.empty() ? "" : fmt::format("; not used: {}", fmt::join(fit.unused, ", "))));
  }
  std::string source = fmt::format("{}", fmt::join(sources_of(tables, calibration), "; "));
  if (!proxies.empty()) {
    source += fmt::format("{}as proxies: {}", source.empty() ? "" : "; ",
                          fmt::join(sources_of(proxies, calibration), "; "));
  }
  fit.profile.provenance = {
      .kind = "fitted", .source = source, .date = date, .notes = base.provenance.notes};
  return fit;
}

std::string describe(const CostCase& which) {
  std::vector<std::string> parts = which.kinds;
  if (which.window != 0) {
    parts.push_back(fmt::format("{0}x{0}", which.window));
  }
  if (which.precision) {
    parts.emplace_back(to_string(*which.precision));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace emplace::calibrate

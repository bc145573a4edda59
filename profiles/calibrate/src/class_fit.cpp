#include "class_fit.hpp"

#include <emplace/calibrate/fit.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <utility>

namespace emplace::calibrate {
namespace {

std::vector<CostForm> forms_of(OpClass op_class) {
  switch (op_class) {
    case OpClass::kConvolution:
      return {CostForm::kMaximum, CostForm::kSmooth};
    case OpClass::kMatmul:
      return {CostForm::kMaximum, CostForm::kSmooth, CostForm::kTiles};
    default:
      // All but bound by memory alone: forms do not differ.
      return {CostForm::kMaximum};
  }
}

std::vector<WorkSample> work_of(std::span<const ClassSample> samples) {
  // Floors are numbered from 0 without gaps.
  std::map<std::int32_t, std::int32_t> floors{{-1, -1}};
  for (const ClassSample& sample : samples) {
    floors.emplace(sample.sample.floor, 0);
  }
  std::int32_t next = -1;
  for (auto& [floor, number] : floors) {
    number = next++;
  }
  std::vector<WorkSample> work;
  for (const ClassSample& sample : samples) {
    work.push_back(sample.sample);
    work.back().floor = floors.at(sample.sample.floor);
  }
  return work;
}

// Names the proxies among samples.
std::string proxies_of(std::span<const ClassSample> samples) {
  std::set<std::string> names;
  for (const ClassSample& sample : samples) {
    names.insert(sample.proxy);
  }
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() || name.empty() ? "" : ", ") + name;
  }
  return text;
}

FittedRoofline fit_form_of(CostForm form, std::span<const ClassSample> samples,
                           const FormBounds& bounds) {
  const std::vector<WorkSample> work = work_of(samples);
  FittedRoofline result{.form = fit_form(form, work, bounds), .proxy = proxies_of(samples)};
  result.held_out_us.resize(samples.size());
  const std::vector<std::size_t> folds = folds_of(samples);
  for (std::size_t fold = 0; fold <= std::ranges::max(folds); ++fold) {
    std::vector<WorkSample> others;
    for (std::size_t at = 0; at < work.size(); ++at) {
      if (folds[at] != fold) {
        others.push_back(work[at]);
      }
    }
    const FittedForm fitted = refit_form(result.form, others, bounds);
    for (std::size_t at = 0; at < work.size(); ++at) {
      if (folds[at] == fold) {
        result.held_out_us[at] = predicted_us(fitted, work[at]);
      }
    }
  }
  for (std::size_t at = 0; at < work.size(); ++at) {
    result.errors.push_back(error_of(predicted_us(result.form, work[at]), work[at].us));
    result.held_out.push_back(error_of(result.held_out_us[at], work[at].us));
  }
  result.form.roofline.relative_deviation = std::min(
      std::sqrt(std::numbers::pi / 2) * summary_of(result.held_out).mean, kMaxRelativeDeviation);
  return result;
}

bool is_richer_for_less(const std::vector<double>& richer, const std::vector<double>& simpler) {
  return std::accumulate(richer.begin(), richer.end(), 0.0) <
         kGain * std::accumulate(simpler.begin(), simpler.end(), 0.0);
}

std::vector<ClassSample> at_places(std::span<const ClassSample> samples,
                                   std::span<const std::size_t> places) {
  std::vector<ClassSample> found;
  std::ranges::transform(places, std::back_inserter(found),
                         [&](std::size_t place) { return samples[place]; });
  return found;
}

FittedPart part_of(CostCase which, FittedRoofline fit, std::vector<ClassSample> samples) {
  which.roofline = fit.form.roofline;
  which.proxy = fit.proxy;
  FittedPart part{std::move(which), std::move(fit), std::move(samples), {}};
  part.own.resize(part.samples.size());
  std::iota(part.own.begin(), part.own.end(), std::size_t{0});
  return part;
}

// Fits the cases of one precision, where they pay; what they leave stays the `whole`'s own.
std::vector<FittedPart> fit_cases(OpClass op_class, std::optional<Precision> precision,
                                  FittedPart& whole, const FormBounds& bounds) {
  std::vector<FittedPart> cases;
  std::vector<double> held_out;
  std::vector<std::size_t> rest = whole.own;
  for (CostCase& which : possible_cases(op_class, precision)) {
    std::vector<std::size_t> own;
    std::vector<std::size_t> others;
    for (const std::size_t at : rest) {
      const ClassSample& sample = whole.samples[at];
      const bool is_own = selects(which, sample.key.kind, sample.key.shape, sample.precision);
      (is_own ? own : others).push_back(at);
    }
    if (own.size() == whole.samples.size()) {
      return {};  // all of it
    }
    std::vector<ClassSample> samples = at_places(whole.samples, own);
    if (auto fit = fit_samples(op_class, samples, bounds)) {
      held_out.insert(held_out.end(), fit->held_out.begin(), fit->held_out.end());
      cases.push_back(part_of(std::move(which), std::move(*fit), std::move(samples)));
      rest = std::move(others);
    }
  }
  for (const std::size_t at : rest) {
    held_out.push_back(whole.fit.held_out[at]);
  }
  if (cases.empty() || !is_richer_for_less(held_out, whole.fit.held_out)) {
    return {};
  }
  whole.own = std::move(rest);
  return cases;
}

}  // namespace

ClassSample class_sample(const DeviceProfile& profile, const OpKey& key, std::int64_t flops,
                         std::int64_t bytes, double us, MathMode math) {
  const Precision precision = precision_of(profile, key.kind, key.type, math);
  return {.key = key,
          .precision = precision,
          .sample = {.work = op_work(key.kind, key.shape, static_cast<double>(flops),
                                     static_cast<double>(bytes)),
                     .rates = rates_of(profile, precision),
                     .us = us}};
}

double error_of(double predicted_us, double measured_us) {
  return std::abs(std::log(predicted_us / measured_us));
}

PredictionError summary_of(std::vector<double> errors) {
  if (errors.empty()) {
    return {};
  }
  // Summed in this order, the mean does not depend on that of the samples.
  std::ranges::sort(errors);
  const std::size_t n = errors.size();
  return {.predicted = static_cast<std::int32_t>(n),
          .mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(n),
          .max = errors.back(),
          .median = (errors[(n - 1) / 2] + errors[n / 2]) / 2};
}

std::size_t num_shapes(std::span<const ClassSample> samples) {
  std::set<std::vector<std::int64_t>> shapes;
  for (const ClassSample& sample : samples) {
    shapes.insert(sample.key.shape);
  }
  return shapes.size();
}

std::vector<std::size_t> folds_of(std::span<const ClassSample> samples) {
  std::map<std::vector<std::int64_t>, std::size_t> fold_of;
  for (const ClassSample& sample : samples) {
    fold_of[sample.key.shape];
  }
  std::size_t next = 0;
  for (auto& [shape, fold] : fold_of) {
    fold = next++ % kMaxFolds;
  }
  std::vector<std::size_t> folds;
  for (const ClassSample& sample : samples) {
    folds.push_back(fold_of.at(sample.key.shape));
  }
  return folds;
}

std::vector<double> FittedClass::all(std::vector<double> FittedRoofline::*errors) const {
  std::vector<double> found;
  const auto add = [&](const FittedPart& part) {
    for (const std::size_t at : part.own) {
      found.push_back((part.fit.*errors)[at]);
    }
  };
  std::ranges::for_each(cases, add);
  add(whole);
  return found;
}

std::vector<CostCase> possible_cases(OpClass op_class, std::optional<Precision> precision) {
  std::vector<CostCase> cases;
  if (op_class == OpClass::kConvolution) {
    for (const std::vector<std::string>& kinds :
         std::vector<std::vector<std::string>>{{"conv2d"},
                                               {"conv2d_backward_data", "conv2d_transpose"},
                                               {"conv2d_backward_filter"}}) {
      for (const std::int64_t window : {3, 1, 0}) {
        cases.push_back({.kinds = kinds, .window = window, .precision = precision});
      }
    }
  }
  return cases;
}

std::optional<FittedRoofline> fit_samples(OpClass op_class, std::span<const ClassSample> samples,
                                          const FormBounds& bounds) {
  if (num_shapes(samples) < kMinFitShapes) {
    return std::nullopt;
  }
  std::optional<FittedRoofline> best;
  for (const CostForm form : forms_of(op_class)) {
    if (form == CostForm::kTiles && samples.front().sample.rates.multiprocessors == 0) {
      continue;
    }
    FittedRoofline fitted = fit_form_of(form, samples, bounds);
    if (!best || is_richer_for_less(fitted.held_out, best->held_out)) {
      best = std::move(fitted);
    }
  }
  return best;
}

std::optional<FittedClass> fit_class(OpClass op_class, std::span<const ClassSample> samples,
                                     const FormBounds& bounds) {
  std::map<Precision, std::vector<ClassSample>> by_precision;
  for (const ClassSample& sample : samples) {
    by_precision[sample.precision].push_back(sample);
  }
  std::optional<FittedClass> result;
  for (auto& [precision, own] : by_precision) {
    std::optional<FittedRoofline> fitted = fit_samples(op_class, own, bounds);
    if (!fitted) {
      continue;
    }
    const auto selector = by_precision.size() == 1 ? std::nullopt : std::optional(precision);
    FittedPart whole = part_of({.precision = selector}, std::move(*fitted), std::move(own));
    std::vector<FittedPart> cases = fit_cases(op_class, selector, whole, bounds);
    if (!result) {
      // The class's own roofline is that of the first precision.
      whole.which.precision.reset();
      result = FittedClass{std::move(whole), std::move(cases)};
    } else {
      std::ranges::move(cases, std::back_inserter(result->cases));
      result->cases.push_back(std::move(whole));  // what its cases leave
    }
  }
  return result;
}

}  // namespace emplace::calibrate

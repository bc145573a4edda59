#include "class_fit.hpp"

#include <emplace/calibrate/fit.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <utility>

namespace emplace::calibrate {
namespace {

using Shape = std::vector<std::int64_t>;

// What may be fitted to a class on its own. Kinds that no line names are one case more.
struct Split {
  OpClass op_class;
  std::vector<std::vector<std::string>> kinds;
  std::vector<std::int64_t> windows;  // the first that fits; 0 is any
};

const std::vector<Split>& splits() {
  static const std::vector<Split> all = {
      {OpClass::kConvolution,
       {{"conv2d"}, {"conv2d_backward_data", "conv2d_transpose"}, {"conv2d_backward_filter"}},
       {3, 1, 0}}};
  return all;
}

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
  std::map<std::int32_t, std::int32_t> floors;
  for (const ClassSample& sample : samples) {
    if (sample.sample.floor >= 0) {
      floors.emplace(sample.sample.floor, 0);
    }
  }
  std::int32_t next = 0;
  for (auto& [floor, number] : floors) {
    number = next++;
  }
  std::vector<WorkSample> work;
  for (const ClassSample& sample : samples) {
    work.push_back(sample.sample);
    if (sample.sample.floor >= 0) {
      work.back().floor = floors.at(sample.sample.floor);
    }
  }
  return work;
}

std::set<Shape> shapes_of(std::span<const ClassSample> samples) {
  std::set<Shape> shapes;
  for (const ClassSample& sample : samples) {
    shapes.insert(sample.key.shape);
  }
  return shapes;
}

// Returns the fold of each shape.
std::map<Shape, std::size_t> deal(const std::set<Shape>& shapes) {
  const std::size_t num_folds = std::min(shapes.size(), kMaxFolds);
  std::map<Shape, std::size_t> folds;
  std::size_t next = 0;
  for (const Shape& shape : shapes) {
    folds.emplace(shape, next++ % num_folds);
  }
  return folds;
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
                           const FormBounds& bounds, const HeldOut& tell) {
  const std::vector<WorkSample> work = work_of(samples);
  FittedRoofline result{.fitted = fit_form(form, work, bounds), .proxy = proxies_of(samples)};
  for (const WorkSample& sample : work) {
    result.errors.add(predicted_us(result.fitted, sample), sample.us);
  }
  const std::map<Shape, std::size_t> fold_of = deal(shapes_of(samples));
  std::vector<double> held_out_us(samples.size());
  for (std::size_t fold = 0; fold < std::min(fold_of.size(), kMaxFolds); ++fold) {
    std::vector<ClassSample> others;
    std::vector<WorkSample> other_work;
    std::vector<ClassSample> left_out;
    std::vector<std::size_t> left;
    for (std::size_t at = 0; at < samples.size(); ++at) {
      if (fold_of.at(samples[at].key.shape) == fold) {
        left_out.push_back(samples[at]);
        left.push_back(at);
      } else {
        others.push_back(samples[at]);
        other_work.push_back(work[at]);
      }
    }
    const FittedForm fitted = refit_form(result.fitted, other_work, bounds);
    std::vector<double> predicted;
    for (const std::size_t at : left) {
      held_out_us[at] = predicted_us(fitted, work[at]);
      predicted.push_back(held_out_us[at]);
    }
    if (tell) {
      tell(others, left_out, predicted);
    }
  }
  for (std::size_t at = 0; at < samples.size(); ++at) {
    result.held_out.add(held_out_us[at], work[at].us);
  }
  result.fitted.roofline.relative_deviation = std::min(
      std::sqrt(std::numbers::pi / 2) * result.held_out.summary().mean, kMaxRelativeDeviation);
  return result;
}

bool is_richer_for_less(const Errors& richer, const Errors& simpler) {
  return richer.sum() < kGain * simpler.sum();
}

struct Cases {
  std::vector<FittedCase> fitted;
  Errors errors;
  Errors held_out;
};

// Tells of the ops left out that no case selects: the roofline of the class predicts them.
void tell_without_case(std::span<const FittedCase> cases, std::span<const ClassSample> others,
                       std::span<const ClassSample> left_out, std::span<const double> predicted_us,
                       const HeldOut& tell) {
  std::vector<ClassSample> own;
  std::vector<double> own_us;
  for (std::size_t at = 0; at < left_out.size(); ++at) {
    const ClassSample& sample = left_out[at];
    if (std::ranges::none_of(cases, [&](const FittedCase& fitted) {
          return selects(fitted.which, sample.key.kind, sample.key.shape, sample.precision);
        })) {
      own.push_back(sample);
      own_us.push_back(predicted_us[at]);
    }
  }
  if (!own.empty()) {
    tell(others, own, own_us);
  }
}

// Fits the cases of one precision where they pay, and else one roofline for all of it.
std::optional<Cases> fit_cases(OpClass op_class, std::optional<Precision> precision,
                               std::span<const ClassSample> samples, const FittedRoofline& whole,
                               const FormBounds& bounds, const HeldOut& tell) {
  Cases cases;
  std::vector<std::vector<ClassSample>> own_samples;
  std::vector<std::size_t> rest(samples.size());
  std::iota(rest.begin(), rest.end(), std::size_t{0});
  for (CostCase& which : possible_cases(op_class, precision)) {
    std::vector<ClassSample> own;
    std::vector<std::size_t> others;
    for (const std::size_t at : rest) {
      const ClassSample& sample = samples[at];
      if (selects(which, sample.key.kind, sample.key.shape, sample.precision)) {
        own.push_back(sample);
      } else {
        others.push_back(at);
      }
    }
    if (own.size() == samples.size()) {
      return std::nullopt;  // all of it
    }
    if (auto fit = fit_samples(op_class, own, bounds)) {
      which.roofline = fit->fitted.roofline;
      which.proxy = fit->proxy;
      cases.errors.add(fit->errors);
      cases.held_out.add(fit->held_out);
      cases.fitted.push_back({std::move(which), std::move(*fit)});
      own_samples.push_back(std::move(own));
      rest = std::move(others);
    }
  }
  for (const std::size_t at : rest) {
    cases.errors.add_one(whole.errors, at);
    cases.held_out.add_one(whole.held_out, at);
  }
  if (cases.fitted.empty() || !is_richer_for_less(cases.held_out, whole.held_out)) {
    return std::nullopt;
  }
  if (tell) {
    for (const std::vector<ClassSample>& own : own_samples) {
      fit_samples(op_class, own, bounds, tell);
    }
    fit_form_of(whole.fitted.roofline.form, samples, bounds,
                [&](auto others, auto left_out, auto predicted_us) {
                  tell_without_case(cases.fitted, others, left_out, predicted_us, tell);
                });
  }
  return cases;
}

}  // namespace

std::vector<CostCase> possible_cases(OpClass op_class, std::optional<Precision> precision) {
  std::vector<CostCase> cases;
  for (const Split& split : splits()) {
    if (split.op_class == op_class) {
      for (const std::vector<std::string>& kinds : split.kinds) {
        for (const std::int64_t window : split.windows) {
          cases.push_back({.kinds = kinds, .window = window, .precision = precision});
        }
      }
    }
  }
  return cases;
}

void Errors::add(double predicted_us, double measured_us) {
  errors_.push_back(std::abs(std::log(predicted_us / measured_us)));
}

void Errors::add(const Errors& other) {
  errors_.insert(errors_.end(), other.errors_.begin(), other.errors_.end());
}

void Errors::add_one(const Errors& other, std::size_t at) { errors_.push_back(other.errors_[at]); }

double Errors::sum() const {
  double sum = 0;
  for (const double error : errors_) {
    sum += error;
  }
  return sum;
}

PredictionError Errors::summary() const {
  if (errors_.empty()) {
    return {};
  }
  std::vector<double> sorted = errors_;
  std::ranges::sort(sorted);
  // Summed in this order, the mean does not depend on that of the samples.
  double sum = 0;
  for (const double error : sorted) {
    sum += error;
  }
  const std::size_t n = sorted.size();
  return {.predicted = static_cast<std::int32_t>(n),
          .mean = sum / static_cast<double>(n),
          .max = sorted.back(),
          .median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2};
}

std::optional<FittedRoofline> fit_samples(OpClass op_class, std::span<const ClassSample> samples,
                                          const FormBounds& bounds, const HeldOut& tell) {
  if (shapes_of(samples).size() < kMinFitShapes) {
    return std::nullopt;
  }
  std::optional<FittedRoofline> best;
  for (const CostForm form : forms_of(op_class)) {
    if (form == CostForm::kTiles && samples.front().sample.rates.multiprocessors == 0) {
      continue;
    }
    FittedRoofline fitted = fit_form_of(form, samples, bounds, {});
    if (!best || is_richer_for_less(fitted.held_out, best->held_out)) {
      best = std::move(fitted);
    }
  }
  if (tell && best) {
    best = fit_form_of(best->fitted.roofline.form, samples, bounds, tell);
  }
  return best;
}

std::optional<FittedClass> fit_class(OpClass op_class, std::span<const ClassSample> samples,
                                     const FormBounds& bounds, const HeldOut& tell) {
  std::map<Precision, std::vector<ClassSample>> by_precision;
  for (const ClassSample& sample : samples) {
    by_precision[sample.precision].push_back(sample);
  }
  FittedClass result;
  bool is_first = true;
  for (const auto& [precision, own] : by_precision) {
    const std::optional<FittedRoofline> fitted = fit_samples(op_class, own, bounds);
    if (!fitted) {
      continue;
    }
    const FittedRoofline& whole = *fitted;
    // The class's own roofline is that of the first precision.
    const bool is_class = std::exchange(is_first, false);
    const std::optional<Precision> selector =
        by_precision.size() == 1 ? std::nullopt : std::optional(precision);
    if (is_class) {
      result.whole = whole;
    }
    if (auto cases = fit_cases(op_class, selector, own, whole, bounds, tell)) {
      result.errors.add(cases->errors);
      result.held_out.add(cases->held_out);
      std::ranges::move(cases->fitted, std::back_inserter(result.cases));
      if (is_class) {
        continue;
      }
    } else {
      if (tell) {
        fit_samples(op_class, own, bounds, tell);
      }
      result.errors.add(whole.errors);
      result.held_out.add(whole.held_out);
    }
    if (!is_class) {
      // What its cases leave.
      result.cases.push_back(
          {{.precision = precision, .roofline = whole.fitted.roofline, .proxy = whole.proxy},
           whole});
    }
  }
  return is_first ? std::nullopt : std::optional(std::move(result));
}

}  // namespace emplace::calibrate

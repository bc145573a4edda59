#include "form_fit.hpp"

#include "robust_fit.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace emplace::calibrate {
namespace {

constexpr int kMaxSteps = 200;
constexpr double kFormConverged = 1e-10;  // of the loss, in one step
constexpr double kDifference = 1e-6;      // of a logarithm, for derivatives
constexpr double kFirstDamping = 1e-3;    // of the diagonal
constexpr double kMostDamping = 1e8;
constexpr double kLeastUs = 1e-3;              // of fixed times, whose logarithms are fitted
constexpr double kMostFloor = 1.0 / 3;         // of the least time that contains it
constexpr double kMinFittedEfficiency = 1e-3;  // nothing real is below

using Vector = std::vector<double>;

struct Bounds {
  double lower = 0;
  double upper = 0;
};

// --- The form `maximum`, of samples without launch floors -------------------------------------

// Which samples are bound by compute is a question of their FLOPs per byte: those above some
// threshold are. The starting points are thresholds at this many quantiles of the samples.
constexpr std::size_t kStarts = 16;
constexpr int kMaxRounds = 100;
constexpr double kConverged = 1e-12;

// The unknowns are t0, 1 / e_c and 1 / e_m, so that all but the maximum is linear in them.
constexpr std::size_t kCompute = 1;
constexpr std::size_t kMemory = 2;
constexpr Triple kLower = {0, 1, 1};

double peak_compute_us(const WorkSample& sample) {
  return sample.work.flops / sample.rates.flops_per_us;
}

double peak_memory_us(const WorkSample& sample) {
  return sample.work.bytes / sample.rates.bytes_per_us;
}

// A fit under way: the samples as equations, and the best unknowns so far.
class RooflineDescent {
 public:
  explicit RooflineDescent(std::span<const WorkSample> samples)
      : equations_(samples.size()), weights_(samples.size()), computes_(samples.size()) {
    for (const WorkSample& sample : samples) {
      full_.push_back(
          {1 / sample.us, peak_compute_us(sample) / sample.us, peak_memory_us(sample) / sample.us});
    }
  }

  // Starts with the samples of more than `threshold` times as many peak-FLOPs as peak-bytes in the
  // branch of compute.
  void start_at(double threshold) {
    for (std::size_t at = 0; at < full_.size(); ++at) {
      computes_[at] = full_[at][kCompute] > threshold * full_[at][kMemory];
    }
    descend();
  }

  // Ends with the unknowns of the least loss of all starts.
  Triple best() const {
    Triple x = best_;
    settle(x, kCompute, kMemory);
    settle(x, kMemory, kCompute);
    return x;
  }

 private:
  double ratio_of(const Triple& equation, const Triple& x) const {
    return equation[0] * x[0] +
           std::max(equation[kCompute] * x[kCompute], equation[kMemory] * x[kMemory]);
  }

  void descend() {
    std::fill(weights_.begin(), weights_.end(), 1.0);
    double last_loss = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kMaxRounds; ++round) {
      for (std::size_t at = 0; at < full_.size(); ++at) {
        equations_[at] = full_[at];
        equations_[at][computes_[at] ? kMemory : kCompute] = 0;
      }
      const Triple x = solve_bounded(equations_, weights_, kLower);
      double loss = 0;
      bool same_branches = true;
      for (std::size_t at = 0; at < full_.size(); ++at) {
        const LogError error(ratio_of(full_[at], x));
        loss += error.loss;
        weights_[at] = error.weight;
        const bool computes = full_[at][kCompute] * x[kCompute] > full_[at][kMemory] * x[kMemory];
        same_branches = same_branches && computes == computes_[at];
        computes_[at] = computes;
      }
      if (loss < least_) {
        least_ = loss;
        best_ = x;
      }
      if (same_branches && std::abs(last_loss - loss) <= kConverged * loss) {
        break;
      }
      last_loss = loss;
    }
  }

  // A branch that no sample takes may cost as much as it can without being taken.
  void settle(Triple& x, std::size_t branch, std::size_t other) const {
    double most = std::numeric_limits<double>::infinity();
    for (const Triple& equation : full_) {
      if (equation[branch] > 0) {
        most = std::min(most, equation[other] * x[other] / equation[branch]);
      }
    }
    if (std::isfinite(most)) {
      x[branch] = std::max(x[branch], most);
    }
  }

  std::vector<Triple> full_;       // by sample, with both branches
  std::vector<Triple> equations_;  // with the branch that it takes
  std::vector<double> weights_;
  std::vector<bool> computes_;
  double least_ = std::numeric_limits<double>::infinity();
  Triple best_ = kLower;
};

Roofline to_roofline(const Triple& x) {
  return {.fixed_us = std::min(x[0], kMaxFixedUs),
          .compute_efficiency = std::max(1 / x[kCompute], kMinEfficiency),
          .memory_efficiency = std::max(1 / x[kMemory], kMinEfficiency)};
}

// Returns the best roofline found from several starting points.
Roofline fit_roofline(std::span<const WorkSample> samples) {
  std::vector<double> ratios;
  for (const WorkSample& sample : samples) {
    ratios.push_back(sample.work.bytes > 0 ? peak_compute_us(sample) / peak_memory_us(sample)
                                           : std::numeric_limits<double>::max());
  }
  std::sort(ratios.begin(), ratios.end());
  RooflineDescent descent(samples);
  for (std::size_t start = 0; start < kStarts; ++start) {
    descent.start_at(ratios[start * (ratios.size() - 1) / (kStarts - 1)]);
  }
  descent.start_at(-1);  // all are bound by compute
  return to_roofline(descent.best());
}

// Returns the best roofline found from `start` only, for samples that differ little from those to
// which that was fitted.
Roofline refit_roofline(std::span<const WorkSample> samples, const Roofline& start) {
  RooflineDescent descent(samples);
  descent.start_at(start.compute_efficiency / start.memory_efficiency);
  return to_roofline(descent.best());
}

// --- All forms --------------------------------------------------------------------------------

// Solves a positive definite system by Cholesky's factorization; nothing if it is not.
std::optional<Vector> solve(std::vector<Vector> matrix, Vector right) {
  const std::size_t n = right.size();
  for (std::size_t column = 0; column < n; ++column) {
    for (std::size_t row = column; row < n; ++row) {
      double value = matrix[row][column];
      for (std::size_t k = 0; k < column; ++k) {
        value -= matrix[row][k] * matrix[column][k];
      }
      if (row == column && !(value > 0)) {
        return std::nullopt;
      }
      matrix[row][column] = row == column ? std::sqrt(value) : value / matrix[column][column];
    }
  }
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t k = 0; k < row; ++k) {
      right[row] -= matrix[row][k] * right[k];
    }
    right[row] /= matrix[row][row];
  }
  for (std::size_t row = n; row-- > 0;) {
    for (std::size_t k = row + 1; k < n; ++k) {
      right[row] -= matrix[k][row] * right[k];
    }
    right[row] /= matrix[row][row];
  }
  return right;
}

// A fit under way. The unknowns are logarithms: t0 (if some sample tells it), e_c, e_m, the tile
// efficiencies (of the form `tiles`), floors.
class Descent {
 public:
  Descent(const FittedForm& start, std::span<const WorkSample> samples, const FormBounds& bounds)
      : samples_(samples),
        has_fixed_(std::ranges::any_of(samples, [](const WorkSample& s) { return s.floor < 0; })),
        fitted_(start) {
    const double least = log_of(kMinFittedEfficiency);
    const double least_us = log_of(kLeastUs);
    if (has_fixed_) {
      bounds_.push_back({least_us, log_of(kMaxFixedUs)});
    } else {
      fitted_.roofline.fixed_us = bounds.fixed_us;
    }
    bounds_.push_back({least, log_of(bounds.max_compute_efficiency)});
    bounds_.push_back({least, log_of(bounds.max_memory_efficiency)});
    if (fitted_.roofline.form == CostForm::kTiles) {
      bounds_.resize(bounds_.size() + fitted_.roofline.tile_efficiencies.size(), {least, 0});
    }
    for (std::size_t floor = 0; floor < fitted_.floors_us.size(); ++floor) {
      double least_with_it = kMaxFixedUs;
      for (const WorkSample& sample : samples) {
        if (sample.floor == static_cast<std::int32_t>(floor)) {
          least_with_it = std::min(least_with_it, sample.us);
        }
      }
      bounds_.push_back({least_us, log_of(least_with_it * kMostFloor)});
    }
    for (const double* const unknown : unknowns_of(fitted_)) {
      const auto& [lower, upper] = bounds_[x_.size()];
      // Not at a bound, where no derivative leads away.
      const double inside = std::min(1e-3, (upper - lower) / 4);
      const double logarithm = *unknown > 0 ? log_of(*unknown) : lower;
      x_.push_back(std::clamp(logarithm, lower + inside, upper - inside));
    }
  }

  FittedForm run() {
    double damping = kFirstDamping;
    double loss = loss_at(x_);
    for (int step = 0; step < kMaxSteps && damping < kMostDamping; ++step) {
      auto [matrix, right] = normal_equations();
      hold_at_bounds(matrix, right);
      bool improved = false;
      while (!improved && damping < kMostDamping) {
        std::vector<Vector> damped = matrix;
        for (std::size_t at = 0; at < x_.size(); ++at) {
          damped[at][at] += damping * damped[at][at] + kFormConverged;
        }
        const std::optional<Vector> change = solve(std::move(damped), right);
        Vector next = x_;
        if (change) {
          for (std::size_t at = 0; at < x_.size(); ++at) {
            next[at] = std::clamp(x_[at] + (*change)[at], bounds_[at].lower, bounds_[at].upper);
          }
        }
        const double next_loss = loss_at(next);
        improved = next_loss < loss;
        damping = improved ? damping / 10 : damping * 10;
        if (improved) {
          x_ = std::move(next);
          if (loss - next_loss <= kFormConverged * loss) {
            return at(x_);
          }
          loss = next_loss;
        }
      }
    }
    return at(x_);
  }

  double loss() const { return loss_at(x_); }

 private:
  std::vector<double*> unknowns_of(FittedForm& form) const {
    Roofline& roofline = form.roofline;
    std::vector<double*> unknowns;
    if (has_fixed_) {
      unknowns.push_back(&roofline.fixed_us);
    }
    unknowns.push_back(&roofline.compute_efficiency);
    unknowns.push_back(&roofline.memory_efficiency);
    if (roofline.form == CostForm::kTiles) {
      unknowns.push_back(&roofline.tile_efficiencies[0]);
      unknowns.push_back(&roofline.tile_efficiencies[1]);
    }
    for (double& floor : form.floors_us) {
      unknowns.push_back(&floor);
    }
    return unknowns;
  }

  // Takes unknowns that a step would push over their bounds out of the equations.
  void hold_at_bounds(std::vector<Vector>& matrix, Vector& right) const {
    for (std::size_t held = 0; held < x_.size(); ++held) {
      if ((x_[held] <= bounds_[held].lower && right[held] < 0) ||
          (x_[held] >= bounds_[held].upper && right[held] > 0)) {
        for (std::size_t other = 0; other < x_.size(); ++other) {
          matrix[held][other] = 0;
          matrix[other][held] = 0;
        }
        matrix[held][held] = 1;
        right[held] = 0;
      }
    }
  }

  FittedForm at(const Vector& x) const {
    FittedForm form = fitted_;
    std::size_t next = 0;
    for (double* const unknown : unknowns_of(form)) {
      *unknown = exp_of(x[next++]);
    }
    return form;
  }

  double error(const FittedForm& form, const WorkSample& sample) const {
    return log_of(predicted_us(form, sample) / sample.us);
  }

  double loss_at(const Vector& x) const {
    const FittedForm form = at(x);
    double loss = 0;
    for (const WorkSample& sample : samples_) {
      loss += huber_loss(error(form, sample));
    }
    return loss;
  }

  std::pair<std::vector<Vector>, Vector> normal_equations() const {
    const std::size_t n = x_.size();
    std::vector<Vector> matrix(n, Vector(n));
    Vector right(n);
    const FittedForm here = at(x_);
    std::vector<FittedForm> moved;
    std::vector<double> widths;
    for (std::size_t unknown = 0; unknown < n; ++unknown) {
      Vector x = x_;
      // Inwards from the upper bound.
      const bool is_free = x[unknown] + kDifference <= bounds_[unknown].upper;
      widths.push_back(is_free ? kDifference : -kDifference);
      x[unknown] += widths.back();
      moved.push_back(at(x));
    }
    Vector slope(n);
    for (const WorkSample& sample : samples_) {
      const double off = error(here, sample);
      const double weight = huber_weight(off);
      for (std::size_t row = 0; row < n; ++row) {
        slope[row] = (error(moved[row], sample) - off) / widths[row];
        right[row] -= weight * slope[row] * off;
        for (std::size_t column = 0; column <= row; ++column) {
          matrix[row][column] += weight * slope[row] * slope[column];
        }
      }
    }
    return {std::move(matrix), std::move(right)};
  }

  std::span<const WorkSample> samples_;
  bool has_fixed_;
  FittedForm fitted_;  // what is not fitted
  Vector x_;
  std::vector<Bounds> bounds_;
};

// The exact fit bounds both efficiencies by 1.
bool is_exact(const Roofline& roofline, const FormBounds& bounds) {
  return (roofline.compute_efficiency < 1 || bounds.max_compute_efficiency <= 1) &&
         (roofline.memory_efficiency < bounds.max_memory_efficiency ||
          bounds.max_memory_efficiency >= 1);
}

}  // namespace

FittedForm fit_form(CostForm form, std::span<const WorkSample> samples, const FormBounds& bounds) {
  EMPLACE_CHECK(!samples.empty(), "a fit to no samples");
  std::int32_t num_floors = 0;
  for (const WorkSample& sample : samples) {
    num_floors = std::max(num_floors, sample.floor + 1);
  }
  const Roofline roofline = fit_roofline(samples);
  if (form == CostForm::kMaximum && num_floors == 0 && is_exact(roofline, bounds)) {
    return {.roofline = roofline};
  }
  FittedForm best;
  double least = std::numeric_limits<double>::infinity();
  // Efficiencies of the exact fit may lie far off where times contain floors.
  for (const double efficiency : {roofline.compute_efficiency, 0.3, 0.9}) {
    FittedForm start{.roofline = roofline,
                     .floors_us = std::vector<double>(static_cast<std::size_t>(num_floors),
                                                      std::max(roofline.fixed_us, kLeastUs))};
    start.roofline.form = form;
    start.roofline.compute_efficiency = efficiency;
    if (form == CostForm::kTiles) {
      start.roofline.tile_efficiencies = {0.8, 0.5};
    }
    Descent descent(start, samples, bounds);
    FittedForm fitted = descent.run();
    if (const double loss = descent.loss(); loss < least) {
      best = std::move(fitted);
      least = loss;
    }
  }
  return best;
}

FittedForm refit_form(const FittedForm& start, std::span<const WorkSample> samples,
                      const FormBounds& bounds) {
  if (start.roofline.form == CostForm::kMaximum && start.floors_us.empty() &&
      is_exact(start.roofline, bounds)) {
    return {.roofline = refit_roofline(samples, start.roofline)};
  }
  return Descent(start, samples, bounds).run();
}

double predicted_us(const FittedForm& fitted, const WorkSample& sample) {
  const double us = roofline_us(fitted.roofline, sample.work, sample.rates);
  if (sample.floor < 0) {
    return us;
  }
  return us - fitted.roofline.fixed_us + fitted.floors_us[static_cast<std::size_t>(sample.floor)];
}

}  // namespace emplace::calibrate

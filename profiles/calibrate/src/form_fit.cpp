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
      : samples_(samples), fitted_(start) {
    const Bounds time = {log_of(kLeastUs), log_of(kMaxFixedUs)};
    const Bounds part = {log_of(kMinFittedEfficiency), 0};
    has_fixed_ = std::ranges::any_of(samples, [](const WorkSample& s) { return s.floor < 0; });
    if (has_fixed_) {
      add(fitted_.roofline.fixed_us, time);
    } else {
      fitted_.roofline.fixed_us = bounds.fixed_us;
    }
    add(fitted_.roofline.compute_efficiency,
        {log_of(kMinFittedEfficiency), log_of(bounds.max_compute_efficiency)});
    add(fitted_.roofline.memory_efficiency,
        {log_of(kMinFittedEfficiency), log_of(bounds.max_memory_efficiency)});
    if (fitted_.roofline.form == CostForm::kTiles) {
      for (const double efficiency : fitted_.roofline.tile_efficiencies) {
        add(efficiency, part);
      }
    }
    for (std::size_t floor = 0; floor < fitted_.floors_us.size(); ++floor) {
      double least_us = kMaxFixedUs;
      for (const WorkSample& sample : samples) {
        if (sample.floor == static_cast<std::int32_t>(floor)) {
          least_us = std::min(least_us, sample.us);
        }
      }
      add(fitted_.floors_us[floor], {time.lower, log_of(least_us * kMostFloor)});
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
  void add(double value, const Bounds& bounds) {
    // Not at a bound, where no derivative leads away.
    const double inside = std::min(1e-3, (bounds.upper - bounds.lower) / 4);
    const double logarithm = value > 0 ? log_of(value) : bounds.lower;
    x_.push_back(std::clamp(logarithm, bounds.lower + inside, bounds.upper - inside));
    bounds_.push_back(bounds);
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
    if (has_fixed_) {
      form.roofline.fixed_us = exp_of(x[next++]);
    }
    form.roofline.compute_efficiency = exp_of(x[next++]);
    form.roofline.memory_efficiency = exp_of(x[next++]);
    if (form.roofline.form == CostForm::kTiles) {
      for (double& efficiency : form.roofline.tile_efficiencies) {
        efficiency = exp_of(x[next++]);
      }
    }
    for (double& floor : form.floors_us) {
      floor = exp_of(x[next++]);
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
    for (std::size_t at_x = 0; at_x < n; ++at_x) {
      Vector x = x_;
      // Inwards from the upper bound.
      const double width =
          x[at_x] + kDifference <= bounds_[at_x].upper ? kDifference : -kDifference;
      x[at_x] += width;
      moved.push_back(at(x));
      widths.push_back(width);
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
  FittedForm fitted_;  // what is not fitted
  bool has_fixed_ = false;
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

#include "roofline_fit.hpp"

#include "robust_fit.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace emplace::calibrate {
namespace {

// Which samples are bound by compute is a question of their FLOPs per byte: those above some
// threshold are. The starting points are thresholds at this many quantiles of the samples.
constexpr std::size_t kStarts = 16;
constexpr int kMaxRooflineRounds = 100;
constexpr double kRooflineConverged = 1e-12;

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
    for (int round = 0; round < kMaxRooflineRounds; ++round) {
      for (std::size_t at = 0; at < full_.size(); ++at) {
        equations_[at] = full_[at];
        equations_[at][computes_[at] ? kMemory : kCompute] = 0;
      }
      const Triple x = solve_bounded(equations_, weights_, kLower);
      double loss = 0;
      bool same_branches = true;
      for (std::size_t at = 0; at < full_.size(); ++at) {
        const LogError error(ratio_of(full_[at], x));
        loss += error.loss();
        weights_[at] = error.weight();
        const bool computes = full_[at][kCompute] * x[kCompute] > full_[at][kMemory] * x[kMemory];
        same_branches = same_branches && computes == computes_[at];
        computes_[at] = computes;
      }
      if (loss < least_) {
        least_ = loss;
        best_ = x;
      }
      if (same_branches && std::abs(last_loss - loss) <= kRooflineConverged * loss) {
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

}  // namespace

Roofline fit_roofline(std::span<const WorkSample> samples) {
  EMPLACE_CHECK(!samples.empty(), "a roofline of no samples");
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

Roofline refit_roofline(std::span<const WorkSample> samples, const Roofline& start) {
  RooflineDescent descent(samples);
  descent.start_at(start.compute_efficiency / start.memory_efficiency);
  return to_roofline(descent.best());
}

}  // namespace emplace::calibrate

#include "work.hpp"

#include <emplace/base/infinity.hpp>
#include <emplace/sim/bounds.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

namespace emplace {
namespace bounds {
namespace {

constexpr int kWorkSteps = 100;
constexpr double kMinAllUs = 1e-100;  // in place of 0, which has no inverse

// Returns how long `op` would keep all slots of `device`.
double share_of_device_us(const Problem& problem, OpId op, DeviceId device) {
  return problem.busy_us(op, device) / problem.slots(device);
}

// Makes the weights of all devices sum up to 1.
void normalize(const std::vector<DeviceKind>& kinds, std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    sum += kinds[kind].count * weights[kind];
  }
  for (double& weight : weights) {
    weight /= sum;
  }
}

}  // namespace

std::vector<DeviceKind> kinds_of(const Problem& problem, std::span<const DeviceId> devices) {
  std::vector<DeviceKind> kinds;
  for (const DeviceId device : devices) {
    const auto same = std::ranges::find_if(kinds, [&](const DeviceKind& kind) {
      return problem.device(kind.example).profile == problem.device(device).profile;
    });
    if (same == kinds.end()) {
      kinds.push_back({device, 1});
    } else {
      ++same->count;
    }
  }
  return kinds;
}

std::vector<double> weights_by_speed(const Problem& problem, const std::vector<DeviceKind>& kinds) {
  std::vector<double> weights;
  for (const DeviceKind& kind : kinds) {
    double all_us = 0;
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      all_us += share_of_device_us(problem, op, kind.example);
    }
    weights.push_back(1 / std::max(all_us, kMinAllUs));
  }
  normalize(kinds, weights);
  return weights;
}

IdVector<OpId, double> shares_us(const Problem& problem, std::span<const DeviceId> devices) {
  const std::vector<DeviceKind> kinds = kinds_of(problem, devices);
  std::vector<double> weights = weights_by_speed(problem, kinds);
  std::vector<double> best_weights = weights;
  double best_us = 0;
  std::vector<double> loads_us(kinds.size());
  for (int step = 0; step < (kinds.size() > 1 ? kWorkSteps : 1); ++step) {
    double bound_us = 0;
    std::fill(loads_us.begin(), loads_us.end(), 0.0);
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      double least_us = kInfinity;
      double busy_us = 0;
      std::size_t cheapest = 0;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        const double on_it_us = share_of_device_us(problem, op, kinds[kind].example);
        if (weights[kind] * on_it_us < least_us) {
          least_us = weights[kind] * on_it_us;
          busy_us = on_it_us;
          cheapest = kind;
        }
      }
      bound_us += least_us;
      loads_us[cheapest] += busy_us;
    }
    if (bound_us > best_us || step == 0) {
      best_us = bound_us;
      best_weights = weights;
    }
    if (bound_us == 0) {
      break;
    }
    // Multiplicative weights: a device that would take more than the bound gets dearer.
    const double rate = 0.5 / std::sqrt(1.0 + step);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const double load_us = loads_us[kind] / kinds[kind].count;
      weights[kind] *= 1 + rate * std::clamp(load_us / bound_us - 1, -1.0, 1.0);
    }
    normalize(kinds, weights);
  }
  IdVector<OpId, double> shares_us(index_of(problem.num_ops()), kInfinity);
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const double on_it_us = share_of_device_us(problem, op, kinds[kind].example);
      shares_us[op] = std::min(shares_us[op], best_weights[kind] * on_it_us);
    }
  }
  return shares_us;
}

}  // namespace bounds

double one_machine_us(std::vector<Job>& jobs) {
  std::ranges::sort(jobs, {}, &Job::release_us);
  std::priority_queue<std::pair<double, double>> ready;  // tail and what is left to do
  double now_us = 0;
  double longest_us = 0;
  for (auto next = jobs.begin(); next != jobs.end() || !ready.empty();) {
    if (ready.empty()) {
      now_us = std::max(now_us, next->release_us);
    }
    for (; next != jobs.end() && next->release_us <= now_us; ++next) {
      ready.emplace(next->tail_us, next->work_us);
    }
    const auto [tail_us, left_us] = ready.top();
    ready.pop();
    double until_us = kInfinity;
    if (next != jobs.end()) {
      until_us = next->release_us;
    }
    if (now_us + left_us <= until_us) {
      now_us += left_us;
      longest_us = std::max(longest_us, now_us + tail_us);
    } else {
      ready.emplace(tail_us, left_us - (until_us - now_us));
      now_us = until_us;
    }
  }
  return longest_us;
}

}  // namespace emplace

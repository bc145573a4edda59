#include <emplace/graphs/id_vector.hpp>
#include <emplace/sim/bounds.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace emplace {
namespace {

constexpr int kSubgradientSteps = 100;

double critical_path_us(const Problem& problem) {
  IdVector<OpId, double> earliest_us(problem.num_ops(), 0.0);
  double longest_us = 0;
  for (const OpId op : problem.topological_order()) {
    double cost_us = std::numeric_limits<double>::infinity();
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      cost_us = std::min(cost_us, problem.launch_us(op, device) + problem.cost_us(op, device));
    }
    const double end_us = earliest_us[op] + cost_us;
    const double gap_us = problem.gap_us(op);
    longest_us = std::max(longest_us, end_us + gap_us);
    for (const Problem::Child& child : problem.children(op)) {
      // On the same device the child waits for the gap, if there is one; elsewhere for a transfer.
      const double transfer_us = gap_us > 0
                                     ? static_cast<double>(problem.output_bytes(child.output)) /
                                           problem.cluster().placeto.bytes_per_us
                                     : 0.0;
      double& child_us = earliest_us[child.op];
      child_us = std::max(child_us, end_us + std::min(gap_us, transfer_us));
    }
  }
  return longest_us;
}

// Returns how long `op` would keep all slots of `device`.
double share_of_device_us(const Problem& problem, OpId op, DeviceId device) {
  return problem.busy_us(op, device) / problem.slots(device);
}

// Evaluates the dual at weights proportional to `weight`, and moves work off the devices that get
// too much: `share` receives the time of the ops that each device takes.
double dual_us(const Problem& problem, const IdVector<DeviceId, double>& weight,
               IdVector<DeviceId, double>& share) {
  std::fill(share.begin(), share.end(), 0.0);
  double sum_us = 0;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    DeviceId cheapest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (DeviceId device = 0; device < weight.end_id(); ++device) {
      const double busy_us = share_of_device_us(problem, op, device);
      if (weight[device] * busy_us < least) {
        least = weight[device] * busy_us;
        cheapest = device;
      }
    }
    sum_us += least;
    share[cheapest] += share_of_device_us(problem, op, cheapest);
  }
  return sum_us;
}

double total_work_us(const Problem& problem) {
  const DeviceId num_devices = problem.num_devices();
  // Weights that are exact for devices which differ by one factor for all ops: the speeds.
  IdVector<DeviceId, double> weight(num_devices, 0.0);
  for (DeviceId device = 0; device < num_devices; ++device) {
    double all_us = 0;
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      all_us += share_of_device_us(problem, op, device);
    }
    if (all_us == 0) {
      return 0;
    }
    weight[device] = 1 / all_us;
  }
  IdVector<DeviceId, double> share(num_devices);
  double best_us = 0;
  for (int step = 0; step < kSubgradientSteps; ++step) {
    double sum = 0;
    for (const double each : weight) {
      sum += each;
    }
    for (double& each : weight) {
      each /= sum;
    }
    const double bound_us = dual_us(problem, weight, share);
    best_us = std::max(best_us, bound_us);
    // Multiplicative weights: a device that would take more than the bound gets dearer.
    const double rate = 0.5 / std::sqrt(1.0 + step);
    for (DeviceId device = 0; device < num_devices; ++device) {
      const double excess = bound_us > 0 ? share[device] / bound_us - 1 : 0;
      weight[device] *= 1 + rate * std::clamp(excess, -1.0, 1.0);
    }
  }
  return best_us;
}

}  // namespace

LowerBounds lower_bounds(const Problem& problem) {
  // Sums are rounded in another order than the simulator's; what that can add is taken off.
  const double kept = 1 - 4 * std::numeric_limits<double>::epsilon() * problem.num_ops();
  return {.critical_path_us = critical_path_us(problem) * kept,
          .total_work_us = total_work_us(problem) * kept};
}

double gap_to_bound(double makespan_us, double bound_us) {
  return bound_us > 0 ? (makespan_us - bound_us) / bound_us : 0.0;
}

}  // namespace emplace

#include "completion_bound.hpp"

#include <emplace/base/infinity.hpp>

#include <algorithm>
#include <limits>

namespace emplace::agents {

CompletionBound::CompletionBound(const Problem& problem)
    : problem_(problem),
      devices_(problem.used_devices()),
      of_ops_(op_bounds(problem, devices_)),
      unit_us_(time_unit_us(problem, devices_)),
      device_of_(index_of(problem.num_ops()), kOpen),
      least_busy_us_(index_of(problem.num_ops()), kInfinity),
      before_(index_of(problem.num_ops())),
      after_(index_of(problem.num_ops())),
      tail_after_us_(index_of(problem.num_outputs())) {
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    for (const DeviceId device : problem.devices_for(problem.grouping().group_of(op))) {
      least_busy_us_[op] = std::min(least_busy_us_[op], problem.busy_us(op, device));
    }
  }
  const auto link = [&](OpId producer, OpId consumer, OutputId output) {
    Edge edge{producer, output, kInfinity};
    const GroupId group = problem.grouping().group_of(producer);
    if (group == problem.grouping().group_of(consumer)) {
      edge.least_extra_us = 0;
    } else {
      for (const DeviceId from : devices_) {
        for (const DeviceId to : devices_) {
          if (from != to) {
            edge.least_extra_us = std::min(edge.least_extra_us, extra_us(producer, edge, from, to));
          }
        }
      }
    }
    before_[consumer].push_back(edge);
    edge.op = consumer;
    after_[producer].push_back(edge);
  };
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    if (problem.cluster().transfer_model == TransferModel::kPlaceto) {
      for (const Problem::Child& child : problem.children(op)) {
        link(op, child.op, child.output);
      }
    } else {
      for (auto [use, end] = problem.uses_of(op); use < end; ++use) {
        link(op, problem.uses()[use].consumer, problem.uses()[use].output);
      }
    }
  }
}

void CompletionBound::assign(GroupId group, DeviceId device) {
  for (const OpId op : problem_.grouping().members(group)) {
    device_of_[op] = device;
  }
}

double CompletionBound::bound_us(double enough_us) {
  double longest_us = path_us();
  if (longest_us < enough_us) {
    longest_us = std::max(longest_us, devices_us(enough_us));
  }
  if (longest_us < enough_us && problem_.cluster().transfer_model == TransferModel::kPlaceto) {
    longest_us = std::max(longest_us, channels_us());
  }
  // Sums are rounded in another order than the simulator's; what that can add is taken off.
  const double kept = 1 - 16 * std::numeric_limits<double>::epsilon() * problem_.num_ops();
  return rounded_up_us(longest_us * kept, unit_us_);
}

IdVector<GroupId, double> CompletionBound::group_tails_us() const {
  IdVector<GroupId, double> longest_us(index_of(problem_.num_groups()), 0.0);
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    double& tail_us = longest_us[problem_.grouping().group_of(op)];
    tail_us = std::max(tail_us, busy_us(op, device_of_[op]) + tails_us_[op]);
  }
  return longest_us;
}

// Returns how much later than on the producer's device its consumer can start on another one.
double CompletionBound::extra_us(OpId producer, const Edge& edge, DeviceId from,
                                 DeviceId to) const {
  if (from == to || edge.output == Dependency::kControl) {
    return 0;
  }
  return problem_.transfer_us(problem_.output_bytes(edge.output), from, to) -
         problem_.gap_us(producer);
}

double CompletionBound::path_us() {
  // From one op to the next, if the devices of both are known or one of them is not.
  const auto step_us = [&](OpId producer, const Edge& edge, DeviceId from, DeviceId to) {
    return from == kOpen || to == kOpen ? std::min(0.0, edge.least_extra_us)
                                        : extra_us(producer, edge, from, to);
  };
  double longest_us = 0;
  heads_us_ = of_ops_.start_us;
  for (const OpId op : problem_.topological_order()) {
    double least_us = kInfinity;
    const auto head_us_on = [&](DeviceId device) {
      double head_us = 0;
      for (const Edge& edge : before_[op]) {
        const DeviceId from = device_of_[edge.op];
        head_us = std::max(head_us, heads_us_[edge.op] + busy_us(edge.op, from) +
                                        step_us(edge.op, edge, from, device));
      }
      return head_us;
    };
    if (device_of_[op] != kOpen) {
      least_us = head_us_on(device_of_[op]);
    } else {
      for (const DeviceId device : devices_) {
        least_us = std::min(least_us, head_us_on(device));
      }
    }
    heads_us_[op] = std::max(heads_us_[op], least_us);
  }
  tails_us_ = of_ops_.tail_us;
  const std::span<const OpId> order = problem_.topological_order();
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const OpId op = *at;
    double least_us = kInfinity;
    const auto tail_us_on = [&](DeviceId device) {
      double tail_us = 0;
      for (const Edge& edge : after_[op]) {
        const DeviceId to = device_of_[edge.op];
        tail_us = std::max(
            tail_us, step_us(op, edge, device, to) + busy_us(edge.op, to) + tails_us_[edge.op]);
      }
      return tail_us;
    };
    if (device_of_[op] != kOpen) {
      least_us = tail_us_on(device_of_[op]);
    } else {
      for (const DeviceId device : devices_) {
        least_us = std::min(least_us, tail_us_on(device));
      }
    }
    tails_us_[op] = std::max(tails_us_[op], least_us);
    longest_us = std::max(longest_us, heads_us_[op] + busy_us(op, device_of_[op]) + tails_us_[op]);
  }
  return longest_us;
}

double CompletionBound::devices_us(double enough_us) {
  double longest_us = 0;
  for (const DeviceId device : devices_) {
    jobs_.clear();
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      if (device_of_[op] == device) {
        jobs_.push_back(
            {heads_us_[op], problem_.busy_us(op, device) / problem_.slots(device), tails_us_[op]});
      }
    }
    longest_us = std::max(longest_us, one_machine_us(jobs_));
    if (longest_us >= enough_us) {
      return longest_us;
    }
  }
  jobs_.clear();
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    jobs_.push_back({heads_us_[op], of_ops_.share_us[op], tails_us_[op]});
  }
  return std::max(longest_us, one_machine_us(jobs_));
}

double CompletionBound::channels_us() {
  const PlacetoModel& model = problem_.cluster().placeto;
  double longest_us = 0;
  for (const DeviceId device : devices_) {
    jobs_.clear();
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      if (device_of_[op] != device) {
        continue;
      }
      const auto [begin, end] = problem_.outputs(op);
      for (OutputId output = begin; output < end; ++output) {
        tail_after_us_[output] = -1;
      }
      for (const Edge& edge : after_[op]) {
        const DeviceId to = device_of_[edge.op];
        if (to != kOpen && to != device) {
          tail_after_us_[edge.output] =
              std::max(tail_after_us_[edge.output], busy_us(edge.op, to) + tails_us_[edge.op]);
        }
      }
      for (OutputId output = begin; output < end; ++output) {
        if (tail_after_us_[output] >= 0) {
          // One transfer for all who need the output; its consumers do not wait for the gap.
          jobs_.push_back({heads_us_[op] + problem_.cost_us(op, device),
                           static_cast<double>(problem_.output_bytes(output)) / model.bytes_per_us +
                               model.gap_after_transfer_us,
                           std::max(0.0, tail_after_us_[output] - model.gap_after_transfer_us)});
        }
      }
    }
    longest_us = std::max(longest_us, one_machine_us(jobs_));
  }
  return longest_us;
}

}  // namespace emplace::agents

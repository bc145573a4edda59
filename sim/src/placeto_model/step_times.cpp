#include "step_times.hpp"

#include <algorithm>

namespace emplace::placeto_model {

StepTimes::StepTimes(const Problem& problem)
    : gap_after_transfer_us(problem.cluster().placeto.gap_after_transfer_us) {
  const auto num_ops = static_cast<std::size_t>(problem.num_ops());
  const auto num_outputs = static_cast<std::size_t>(problem.num_outputs()) + 1;
  start_us.resize(num_ops);
  known_us.assign(num_ops + num_outputs + 1, kNotSent);
  known_us.back() = 0;
  end_us = std::span(known_us).first(num_ops);
  transfer_end_us = std::span(known_us).subspan(num_ops, num_outputs);
  transfer_start_us.assign(num_outputs, kNotSent);
  last_uses_us.assign(num_ops + 1, -1);
  dispatch_order.resize(num_ops);
  for (OutputId output = 0; output < problem.num_outputs(); ++output) {
    transfer_us.push_back(static_cast<double>(problem.output_bytes(output)) /
                          problem.cluster().placeto.bytes_per_us);
  }
  transfer_us.push_back(1);
}

OutputId StepTimes::only_output(const Problem& problem, OpId op) {
  const auto children = problem.children(op);
  if (children.empty()) {
    return problem.num_outputs();
  }
  const OutputId output = children.front().output;
  const bool is_only = std::all_of(children.begin(), children.end(),
                                   [&](const auto& child) { return child.output == output; });
  return is_only ? output : OutputId(kNone);
}

void StepTimes::send_all(const Problem& problem, const Placement& placement) {
  const auto device_of = [&](OpId op) { return placement[problem.grouping().group_of(op)]; };
  IdVector<DeviceId, double> channel_free_us(index_of(problem.num_devices()), 0.0);
  for (const OpId op : dispatch_order) {
    const DeviceId device = device_of(op);
    channel_free_us[device] = send(problem, op, channel_free_us[device],
                                   [&](OpId consumer) { return device_of(consumer) != device; });
  }
}

}  // namespace emplace::placeto_model

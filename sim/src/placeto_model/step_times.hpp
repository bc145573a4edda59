#pragma once

// The times of a step under the rules of the `placeto` engine: what a full run and an incremental
// run both write, and the little that both compute.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace::placeto_model {

/// Holds what a placement puts on a device.
struct PlacedOps {
  std::size_t num_ops = 0;
  std::int64_t persistent_bytes = 0;
};

/// Holds the times of a run. Behind the last output there is a sentinel, which no op reads.
struct StepTimes {
  static constexpr double kNotSent = -1.0;
  static constexpr std::int32_t kNone = -1;

  /// Makes room for the times of one problem.
  explicit StepTimes(const Problem& problem);

  StepTimes(const StepTimes&) = delete;
  StepTimes& operator=(const StepTimes&) = delete;

  /// Returns when an op with this start and cost lets go of its inputs (rule 14).
  static double last_use_us(double start_us, double cost_us) {
    return whole(start_us) + whole(cost_us) - 1;
  }

  /// Returns the output that all consumers of `op` read; the sentinel if it has no consumers, and
  /// kNone if they read several.
  static OutputId only_output(const Problem& problem, OpId op);

  /// Sends each output of `op` that a consumer wants for which `is_elsewhere(consumer)` holds, once
  /// and in the order of first mention (rule 8). Takes and returns when the channel is free.
  template <class IsElsewhere>
  double send(const Problem& problem, OpId op, double channel_free_us,
              const IsElsewhere& is_elsewhere);

  /// Sends the outputs of all ops again, in the order in which they were dispatched: for the times
  /// of transfers, which a full run does not keep. Requires: all else is known.
  void send_all(const Problem& problem, const Placement& placement);

  IdVector<OpId, double> start_us;
  std::vector<double> known_us;  ///< end_us, then transfer_end_us, then a zero
  IdSpan<OpId, double> end_us;
  IdSpan<OutputId, double> transfer_end_us;
  IdVector<OutputId, double> transfer_start_us;
  IdVector<OpId, double> last_uses_us;  ///< last_use_us(); behind the last op that of a sentinel
  std::vector<OpId> dispatch_order;     ///< all ops in the order in which they were dispatched

  IdVector<OutputId, double> transfer_us;  ///< how long it takes; any time for the sentinel
  double gap_after_transfer_us;

 private:
  static double whole(double us) { return static_cast<double>(static_cast<std::int64_t>(us)); }
};

template <class IsElsewhere>
double StepTimes::send(const Problem& problem, OpId op, double channel_free_us,
                       const IsElsewhere& is_elsewhere) {
  const auto [first, last] = problem.outputs(op);
  for (OutputId output = first; output < last; ++output) {
    transfer_start_us[output] = transfer_end_us[output] = kNotSent;
  }
  for (const Problem::Child& child : problem.children(op)) {
    const OutputId output = child.output;
    if (is_elsewhere(child.op) && transfer_start_us[output] == kNotSent) {
      transfer_start_us[output] = std::max(channel_free_us, end_us[op]);
      transfer_end_us[output] = transfer_start_us[output] + transfer_us[output];
      channel_free_us = transfer_end_us[output] + gap_after_transfer_us;
    }
  }
  return channel_free_us;
}

}  // namespace emplace::placeto_model

#pragma once

// The result of one simulated step, as agents see it.
//
// Agents minimize Evaluation::objective_us(): the step time, plus 2 s for each 10^9 bytes over the
// capacity of a device (the penalty of Addanki et al. 2019). The penalty guides a search towards
// placements that fit.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>

namespace emplace {
struct SimResult;
}  // namespace emplace

namespace emplace::agents {

/// How an evaluation ended.
enum class EvaluationStatus : std::uint8_t {
  kOk,
  kOutOfMemory,
  kCutOff,  ///< the step takes as long as the caller's cut-off or longer
  kBudgetSpent,
};

/// The result of one evaluation: the simulation of one step.
struct Evaluation {
  EvaluationStatus status = EvaluationStatus::kBudgetSpent;
  double step_time_us = 0;
  std::int64_t bytes_over = 0;  ///< memory beyond the capacities, summed over devices

  /// Returns whether the step was simulated to its end.
  bool has_step() const;

  /// Returns what agents minimize; infinity if it was cut off or the budget was spent.
  double objective_us() const;

  /// Returns whether this one is preferred: one that fits before one that does not, then the lower
  /// objective.
  bool better_than(const Evaluation& other) const;
};

/// Returns the evaluation of a simulated step.
Evaluation evaluation_of(const SimResult& result);

/// More details of a simulated step.
struct StepOutline {
  IdVector<GroupId, double> group_start_us{};     ///< when the first op of each group starts
  IdVector<DeviceId, std::int64_t> peak_bytes{};  ///< peak memory of each device
};

}  // namespace emplace::agents

#include <emplace/agents/evaluation.hpp>
#include <emplace/sim/simulator.hpp>

#include <limits>
#include <utility>

namespace emplace::agents {
namespace {

// 2 s for each 10^9 bytes.
constexpr double kPenaltyUsPerByte = 2e6 / 1e9;

}  // namespace

Evaluation evaluation_of(const SimResult& result) {
  if (result.is_cut_off) {
    return {.status = EvaluationStatus::kCutOff, .step_time_us = result.makespan_us};
  }
  return {.status = result.status == StepStatus::kOk ? EvaluationStatus::kOk
                                                     : EvaluationStatus::kOutOfMemory,
          .step_time_us = result.makespan_us,
          .bytes_over = result.bytes_over};
}

bool Evaluation::has_step() const {
  return status == EvaluationStatus::kOk || status == EvaluationStatus::kOutOfMemory;
}

double Evaluation::objective_us() const {
  return has_step() ? step_time_us + kPenaltyUsPerByte * static_cast<double>(bytes_over)
                    : std::numeric_limits<double>::infinity();
}

bool Evaluation::better_than(const Evaluation& other) const {
  return std::pair(status, objective_us()) < std::pair(other.status, other.objective_us());
}

}  // namespace emplace::agents

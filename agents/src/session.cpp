#include <emplace/agents/session.hpp>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace::agents {
namespace {

// 2 s for each 10^9 bytes.
constexpr double kPenaltyUsPerByte = 2e6 / 1e9;

Evaluation simulate(Simulator& simulator, const Placement& placement) {
  const SimResult& result = simulator.run(placement);
  return {.status = result.status == StepStatus::kOk ? EvaluationStatus::kOk
                                                     : EvaluationStatus::kOutOfMemory,
          .step_time_us = result.makespan_us,
          .bytes_over = result.bytes_over};
}

}  // namespace

double Evaluation::objective_us() const {
  if (status == EvaluationStatus::kBudgetSpent) {
    return std::numeric_limits<double>::infinity();
  }
  return step_time_us + kPenaltyUsPerByte * static_cast<double>(bytes_over);
}

bool Evaluation::better_than(const Evaluation& other) const {
  return std::pair(status, objective_us()) < std::pair(other.status, other.objective_us());
}

struct Session::Workspaces {
  explicit Workspaces(const Problem& problem)
      : simulators([&problem] { return Simulator(problem); }) {}

  tbb::enumerable_thread_specific<Simulator> simulators;
};

Session::Session(const Problem& problem, Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      workspaces_(std::make_unique<Workspaces>(problem)) {}

Session::~Session() = default;

Evaluation Session::evaluate(const Placement& placement) {
  if (exhausted()) {
    return {};
  }
  const Evaluation evaluation = simulate(workspaces_->simulators.local(), placement);
  record(placement, evaluation);
  return evaluation;
}

std::vector<Evaluation> Session::evaluate(std::span<const Placement> placements) {
  std::vector<Evaluation> evaluations(placements.size());
  const std::size_t count =
      std::min(placements.size(), static_cast<std::size_t>(evaluations_left()));
  // Isolated, so that a thread which waits here does not start on another cell of the suite.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const auto& range) {
      Simulator& simulator = workspaces_->simulators.local();
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        evaluations[i] = simulate(simulator, placements[i]);
      }
    });
  });
  for (std::size_t i = 0; i < count; ++i) {
    record(placements[i], evaluations[i]);
  }
  return evaluations;
}

std::int64_t Session::evaluations_left() const {
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
    return 0;
  }
  return std::max<std::int64_t>(0, options_.max_evaluations - evaluations_);
}

void Session::record(const Placement& placement, const Evaluation& evaluation) {
  ++evaluations_;
  if (evaluation.better_than(best_evaluation_)) {
    best_placement_ = placement;
    best_evaluation_ = evaluation;
    evaluations_to_best_ = evaluations_;
  }
  if (options_.progress && evaluations_ % kProgressInterval == 0) {
    options_.progress(evaluations_);
  }
}

}  // namespace emplace::agents

#include <emplace/agents/session.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/sim/coarsening.hpp>

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

Evaluation evaluation_of(const SimResult& result) {
  return {.status = result.status == StepStatus::kOk ? EvaluationStatus::kOk
                                                     : EvaluationStatus::kOutOfMemory,
          .step_time_us = result.makespan_us,
          .bytes_over = result.bytes_over};
}

void outline(const Problem& problem, const SimResult& result, StepOutline& outline) {
  outline.group_start_us.assign(static_cast<std::size_t>(problem.num_groups()),
                                std::numeric_limits<double>::infinity());
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    double& start_us = outline.group_start_us[problem.grouping().group_of(op)];
    start_us = std::min(start_us, result.start_us[op]);
  }
  outline.peak_bytes.assign(result.peak_bytes.begin(), result.peak_bytes.end());
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
    : problem_(&problem),
      options_(std::move(options)),
      random_(options_.seed),
      workspaces_(std::make_unique<Workspaces>(problem)) {}

Session::Session(Session& parent, const Problem& level)
    : problem_(&level),
      parent_(&parent),
      nesting_(std::make_unique<GroupNesting>(parent.problem().grouping(), level.grouping())),
      random_(0) {  // never drawn from
  const std::optional<Placement>& best = parent.best_placement();
  if (best && nesting_->can_express(*best)) {
    keep_if_best(nesting_->project(parent.problem(), *best), parent.best_evaluation(),
                 parent.evaluations_to_best());
  }
}

Session::~Session() = default;

Session::State Session::state() const {
  return {.random = parent_ == nullptr ? random_.state() : parent_->state().random,
          .evaluations = evaluations(),
          .evaluations_to_best = evaluations_to_best(),
          .best_placement = best_placement_,
          .best_evaluation = best_evaluation_};
}

void Session::restore(State state) {
  EMPLACE_CHECK(parent_ == nullptr, "a session on a coarser level has no state of its own");
  random_ = RandomStream(state.random);
  evaluations_ = state.evaluations;
  best_placement_ = std::move(state.best_placement);
  best_evaluation_ = state.best_evaluation;
  improvements_.clear();
  if (best_placement_) {
    improvements_.push_back({state.evaluations_to_best, state.best_evaluation});
  }
}

Evaluation Session::evaluate(const Placement& placement) {
  if (parent_ != nullptr) {
    return evaluate_by_parent({&placement, 1}, {}).front();
  }
  if (exhausted()) {
    return {};
  }
  const Evaluation evaluation = evaluation_of(workspaces_->simulators.local().run(placement));
  record(placement, evaluation);
  return evaluation;
}

std::vector<Evaluation> Session::evaluate(std::span<const Placement> placements,
                                          std::span<StepOutline> outlines) {
  EMPLACE_CHECK(outlines.empty() || outlines.size() == placements.size(),
                "{} outlines for {} placements", outlines.size(), placements.size());
  if (parent_ != nullptr) {
    return evaluate_by_parent(placements, outlines);
  }
  std::vector<Evaluation> evaluations(placements.size());
  const std::size_t count =
      std::min(placements.size(), static_cast<std::size_t>(evaluations_left()));
  // Isolated, so that a thread which waits here does not start on another cell of the suite.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const auto& range) {
      Simulator& simulator = workspaces_->simulators.local();
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        const SimResult& result = simulator.run(placements[i]);
        evaluations[i] = evaluation_of(result);
        if (!outlines.empty()) {
          outline(*problem_, result, outlines[i]);
        }
      }
    });
  });
  for (std::size_t i = 0; i < count; ++i) {
    record(placements[i], evaluations[i]);
  }
  return evaluations;
}

std::vector<Evaluation> Session::evaluate_by_parent(std::span<const Placement> placements,
                                                    std::span<StepOutline> outlines) {
  std::vector<Placement> expanded;
  expanded.reserve(placements.size());
  for (const Placement& placement : placements) {
    expanded.push_back(nesting_->expand(placement));
  }
  std::vector<StepOutline> fine(outlines.size());
  const std::int64_t before = parent_->evaluations();
  std::vector<Evaluation> evaluations = parent_->evaluate(expanded, fine);
  const std::int64_t count = parent_->evaluations() - before;  // the others were beyond the budget
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    keep_if_best(placements[i], evaluations[i], before + static_cast<std::int64_t>(i) + 1);
    if (!outlines.empty()) {
      outlines[i].group_start_us = nesting_->least(fine[i].group_start_us);
      outlines[i].peak_bytes = std::move(fine[i].peak_bytes);
    }
  }
  return evaluations;
}

std::int64_t Session::evaluations_left() const {
  if (parent_ != nullptr) {
    return parent_->evaluations_left();
  }
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
    return 0;
  }
  return std::max<std::int64_t>(0, options_.max_evaluations - evaluations_);
}

std::int64_t Session::evaluations_to_within(double share) const {
  const auto found = std::ranges::find_if(improvements_, [&](const Improvement& improvement) {
    const Evaluation& evaluation = improvement.evaluation;
    return evaluation.status == best_evaluation_.status &&
           evaluation.objective_us() <= (1 + share) * best_evaluation_.objective_us();
  });
  return found == improvements_.end() ? 0 : found->evaluations;
}

void Session::record(const Placement& placement, const Evaluation& evaluation) {
  ++evaluations_;
  keep_if_best(placement, evaluation, evaluations_);
  if (options_.progress && evaluations_ % kProgressInterval == 0) {
    options_.progress(evaluations_);
  }
}

void Session::keep_if_best(const Placement& placement, const Evaluation& evaluation,
                           std::int64_t evaluations) {
  if (evaluation.better_than(best_evaluation_)) {
    best_placement_ = placement;
    best_evaluation_ = evaluation;
    improvements_.push_back({evaluations, evaluation});
  }
}

}  // namespace emplace::agents

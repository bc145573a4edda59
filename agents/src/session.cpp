#include "coarsening/group_nesting.hpp"
#include "move_evaluator.hpp"
#include "neighbourhood_pool.hpp"

#include <emplace/agents/placeable.hpp>
#include <emplace/agents/session.hpp>
#include <emplace/base/check.hpp>
#include <emplace/sim/neighbourhood.hpp>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

namespace emplace::agents {
namespace {

// 2 s for each 10^9 bytes.
constexpr double kPenaltyUsPerByte = 2e6 / 1e9;

// Says whether the step was simulated to its end.
bool has_step(const Evaluation& evaluation) {
  return evaluation.status == EvaluationStatus::kOk ||
         evaluation.status == EvaluationStatus::kOutOfMemory;
}

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

double Evaluation::objective_us() const {
  if (!has_step(*this)) {
    return std::numeric_limits<double>::infinity();
  }
  return step_time_us + kPenaltyUsPerByte * static_cast<double>(bytes_over);
}

bool Evaluation::better_than(const Evaluation& other) const {
  return std::pair(status, objective_us()) < std::pair(other.status, other.objective_us());
}

Session::Session(const Problem& problem, Options options)
    : Session(problem, std::move(options), std::make_shared<NeighbourhoodPool>(problem)) {}

Session::Session(const Problem& problem, Options options, std::shared_ptr<NeighbourhoodPool> pool)
    : problem_(&problem),
      options_(std::move(options)),
      random_(options_.seed),
      pool_(std::move(pool)) {}

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
  if (state.best_placement) {
    check(*state.best_placement);
  }
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
  return MoveEvaluator(*this).start(placement);
}

std::vector<Evaluation> Session::evaluate(std::span<const Placement> placements,
                                          std::span<StepOutline> outlines) {
  EMPLACE_CHECK(outlines.empty() || outlines.size() == placements.size(),
                "{} outlines for {} placements", outlines.size(), placements.size());
  if (parent_ != nullptr) {
    return evaluate_by_parent(placements, outlines);
  }
  std::ranges::for_each(placements, [this](const Placement& placement) { check(placement); });
  std::vector<Evaluation> evaluations(placements.size());
  const std::size_t count =
      std::min(placements.size(), static_cast<std::size_t>(evaluations_left()));
  // Isolated, so that a thread which waits here does not start on another cell of the suite.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const auto& range) {
      std::unique_ptr<Neighbourhood> simulator = pool_->borrow();
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        const SimResult& result = simulator->start(placements[i]);
        evaluations[i] = evaluation_of(result);
        if (!outlines.empty()) {
          outline_of(result, outlines[i]);
        }
      }
      pool_->give_back(std::move(simulator));
    });
  });
  for (std::size_t i = 0; i < count; ++i) {
    record(placements[i], evaluations[i]);
  }
  return evaluations;
}

void Session::charge(std::int64_t simulations) {
  if (parent_ != nullptr) {
    parent_->charge(simulations);
    return;
  }
  evaluations_ += simulations;
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

GroupId Session::coarse_of(GroupId finest_group) const {
  return parent_ == nullptr ? finest_group : nesting_->coarse_of(parent_->coarse_of(finest_group));
}

Placement Session::expand_to_finest(const Placement& placement) const {
  return parent_ == nullptr ? placement : parent_->expand_to_finest(nesting_->expand(placement));
}

// What does not fit may be shorter than the best, and what fits comes before what does not.
double Session::cutoff_us(double cutoff_us) const {
  const bool has_best = best_placement_ && best_evaluation_.status == EvaluationStatus::kOk;
  return has_best ? std::max(cutoff_us, best_evaluation_.step_time_us)
                  : std::numeric_limits<double>::infinity();
}

void Session::outline_of(const SimResult& result, StepOutline& outline) const {
  if (parent_ != nullptr) {
    StepOutline fine;
    parent_->outline_of(result, fine);
    outline.group_start_us = nesting_->least(fine.group_start_us);
    outline.peak_bytes = std::move(fine.peak_bytes);
    return;
  }
  outline.group_start_us.assign(static_cast<std::size_t>(problem_->num_groups()),
                                std::numeric_limits<double>::infinity());
  for (OpId op = 0; op < problem_->num_ops(); ++op) {
    double& start_us = outline.group_start_us[problem_->grouping().group_of(op)];
    start_us = std::min(start_us, result.start_us[op]);
  }
  outline.peak_bytes.assign(result.peak_bytes.begin(), result.peak_bytes.end());
}

// Keeps what the finest session has recorded.
void Session::keep_on_levels(const Placement& placement, const Evaluation& evaluation) {
  if (parent_ == nullptr) {
    return;
  }
  if (parent_->parent_ != nullptr) {
    parent_->keep_on_levels(nesting_->expand(placement), evaluation);
  }
  keep_if_best(placement, evaluation, evaluations());
}

void Session::check(const Placement& placement) const {
  if (!options_.any_device && !is_placeable(*problem_, placement)) {
    require_placeable(*problem_, placement, "the placement");
  }
}

std::int64_t Session::evaluations_left() const {
  if (parent_ != nullptr) {
    return parent_->evaluations_left();
  }
  if (stopped()) {
    return 0;
  }
  const bool is_enough = best_evaluation_.status == EvaluationStatus::kOk &&
                         best_evaluation_.step_time_us <= options_.enough_us;
  if (is_enough || share_of_time() >= 1) {
    return 0;
  }
  return std::max<std::int64_t>(0, options_.max_evaluations - evaluations_);
}

bool Session::stopped() const {
  return parent_ != nullptr
             ? parent_->stopped()
             : options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
}

std::optional<double> Session::seconds_left() const {
  if (parent_ != nullptr) {
    return parent_->seconds_left();
  }
  if (!options_.max_time) {
    return std::nullopt;
  }
  return std::max(0.0, options_.max_time->count() * (1 - share_of_time()));
}

double Session::share_used() const {
  if (parent_ != nullptr) {
    return parent_->share_used();
  }
  const double of_evaluations =
      options_.max_evaluations > 0
          ? static_cast<double>(evaluations_) / static_cast<double>(options_.max_evaluations)
          : 1.0;
  return std::min(1.0, std::max(of_evaluations, share_of_time()));
}

double Session::share_of_time() const {
  return options_.max_time ? (Clock::now() - begin_) / *options_.max_time : 0.0;
}

std::size_t Session::concurrency() const {
  if (parent_ != nullptr) {
    return parent_->concurrency();
  }
  return options_.max_time ? static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()) : 1;
}

void Session::run_in_parallel_on_level(std::size_t count, double share,
                                       const std::function<void(std::size_t, Session&)>& search) {
  std::vector<State> ends(count);
  parent_->run_in_parallel(count, share, [&](std::size_t i, Session& child) {
    Session on_level(child, *problem_);
    search(i, on_level);
    ends[i] = on_level.state();
  });
  for (const State& end : ends) {
    if (end.best_placement) {
      keep_if_best(*end.best_placement, end.best_evaluation, parent_->evaluations());
    }
  }
}

void Session::run_in_parallel(std::size_t count, double share,
                              const std::function<void(std::size_t, Session&)>& search) {
  if (parent_ != nullptr) {
    run_in_parallel_on_level(count, share, search);
    return;
  }
  const auto num_searches = static_cast<double>(count);
  Options each{.max_evaluations = static_cast<std::int64_t>(
                   share * static_cast<double>(evaluations_left()) / num_searches),
               .enough_us = options_.enough_us,
               .any_device = options_.any_device,
               .stop = options_.stop};
  if (options_.max_time) {
    // As many as there are threads run at a time.
    const auto num_threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    const std::size_t num_rounds = (count + num_threads - 1) / num_threads;
    each.max_time =
        *options_.max_time * (1 - share_of_time()) * share / static_cast<double>(num_rounds);
  }
  // What the searches report, as it comes.
  std::mutex reporting;
  Evaluation best = best_evaluation_;
  std::int64_t evaluations = evaluations_;
  if (options_.progress) {
    each.progress = [&](std::int64_t) {
      const std::lock_guard lock(reporting);
      evaluations += kProgressInterval;
      options_.progress(evaluations);
    };
  }
  if (options_.improved) {
    each.improved = [&](const Improvement& improvement) {
      const std::lock_guard lock(reporting);
      if (improvement.evaluation.better_than(best)) {
        best = improvement.evaluation;
        options_.improved({.evaluations = evaluations, .evaluation = best});
      }
    };
  }
  std::vector<std::unique_ptr<Session>> sessions;
  for (std::size_t i = 0; i < count; ++i) {
    each.seed = random().next();
    sessions.push_back(std::unique_ptr<Session>(new Session(*problem_, each, pool_)));
  }
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, count, 1),
        [&](const auto& range) {
          for (std::size_t i = range.begin(); i < range.end(); ++i) {
            sessions[i]->begin_ = Clock::now();
            search(i, *sessions[i]);
          }
        },
        tbb::simple_partitioner());
  });
  for (const std::unique_ptr<Session>& session : sessions) {
    absorb(*session);
  }
  if (options_.progress) {
    options_.progress(evaluations_);
  }
}

void Session::absorb(const Session& child) {
  // They were reported when they came. Each improvement is better than the one before. So if one of
  // them is better than what is known here, the last one is, whose placement the child has kept.
  if (const auto& placement = child.best_placement_) {
    for (const Improvement& improvement : child.improvements_) {
      keep_if_best(*placement, improvement.evaluation, evaluations_ + improvement.evaluations,
                   Reports::kNo);
    }
  }
  evaluations_ += child.evaluations_;
  prove_bound(child.proven_bound_us_);
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
                           std::int64_t evaluations, Reports reports) {
  if (has_step(evaluation) && evaluation.better_than(best_evaluation_)) {
    best_placement_ = placement;
    best_evaluation_ = evaluation;
    improvements_.push_back({evaluations, evaluation});
    if (reports == Reports::kYes && options_.improved) {
      options_.improved(improvements_.back());
    }
  }
}

}  // namespace emplace::agents

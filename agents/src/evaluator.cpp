#include "coarsening/group_nesting.hpp"
#include "neighbourhood_pool.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/agents/move_evaluator.hpp>
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

struct Evaluator::Shared {
  Options options;
  Budget budget;
  RandomStream random;
  std::shared_ptr<NeighbourhoodPool> pool;
};

Evaluator::Evaluator(const Problem& problem, Options options)
    : Evaluator(problem, std::move(options), std::make_shared<NeighbourhoodPool>(problem)) {}

Evaluator::Evaluator(const Problem& problem, Options options,
                     std::shared_ptr<NeighbourhoodPool> pool)
    : problem_(&problem),
      finest_(*this),
      shared_(std::make_shared<Shared>(
          Shared{options, Budget(options.budget), RandomStream(options.seed), std::move(pool)})),
      incumbent_(problem, options.any_device) {}

Evaluator::Evaluator(Evaluator& finer, const Problem& level)
    : problem_(&level),
      finer_(&finer),
      finest_(finer.finest_),
      shared_(finer.shared_),
      nesting_(std::make_unique<GroupNesting>(finest_.problem().grouping(), level.grouping())),
      incumbent_(level, shared_->options.any_device) {
  if (const std::optional<Placement>& best = finer.incumbent().placement()) {
    if (const Placement finest = finer.expanded(*best); nesting_->can_express(finest)) {
      incumbent_.update(nesting_->coarsen(finest), finer.incumbent().evaluation(),
                        finer.incumbent().evaluations_to_best());
    }
  }
}

Evaluator::~Evaluator() = default;

Budget& Evaluator::budget() { return shared_->budget; }

const Budget& Evaluator::budget() const { return shared_->budget; }

RandomStream& Evaluator::random() { return shared_->random; }

NeighbourhoodPool& Evaluator::pool() { return *shared_->pool; }

Evaluator::State Evaluator::state() const {
  EMPLACE_CHECK(is_finest(), "a coarser level has no state of its own");
  return {.random = shared_->random.state(),
          .evaluations = budget().evaluations(),
          .evaluations_to_best = incumbent_.evaluations_to_best(),
          .best_placement = incumbent_.placement(),
          .best_evaluation = incumbent_.evaluation()};
}

void Evaluator::restore(const State& state) {
  EMPLACE_CHECK(is_finest(), "a coarser level has no state of its own");
  if (state.best_placement) {
    incumbent_.check(*state.best_placement);
  }
  shared_->random = RandomStream(state.random);
  shared_->budget = Budget(shared_->options.budget);
  budget().charge(state.evaluations);
  incumbent_ = Incumbent(*problem_, shared_->options.any_device);
  if (state.best_placement) {
    incumbent_.update(*state.best_placement, state.best_evaluation, state.evaluations_to_best);
  }
  end_if_enough();
}

Evaluation Evaluator::evaluate(const Placement& placement) {
  return MoveEvaluator(*this).start(placement);
}

std::vector<Evaluation> Evaluator::evaluate(std::span<const Placement> placements,
                                            std::span<StepOutline> outlines) {
  EMPLACE_CHECK(outlines.empty() || outlines.size() == placements.size(),
                "{} outlines for {} placements", outlines.size(), placements.size());
  const bool is_as_given = is_finest() && problem_->constraints().empty();
  std::vector<Placement> finest_placements;
  for (const Placement& placement : placements) {
    incumbent_.check(placement);
    if (!is_as_given) {
      finest_placements.push_back(expanded(constrained(placement)));
    }
  }
  const std::span<const Placement> finest = is_as_given ? placements : finest_placements;
  std::vector<Evaluation> evaluations(placements.size());
  const std::size_t count =
      std::min(placements.size(), static_cast<std::size_t>(budget().evaluations_left()));
  // Isolated, so that a thread which waits here does not start on another cell of the suite.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const auto& range) {
      std::unique_ptr<Neighbourhood> simulator = pool().borrow();
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        const SimResult& result = simulator->start(finest[i]);
        evaluations[i] = evaluation_of(result);
        if (!outlines.empty()) {
          outline_of(result, outlines[i]);
        }
      }
      pool().give_back(std::move(simulator));
    });
  });
  for (std::size_t i = 0; i < count; ++i) {
    record(finest[i], evaluations[i]);
  }
  return evaluations;
}

void Evaluator::run_in_parallel(std::size_t count, double share,
                                const std::function<void(std::size_t, Evaluator&)>& search) {
  const Options& options = shared_->options;
  Options each{.budget = budget().split(count, share),
               .enough_us = options.enough_us,
               .any_device = options.any_device};
  // What the searches report, as it comes.
  std::mutex reporting;
  Evaluation best = finest_.incumbent().evaluation();
  std::int64_t evaluations = budget().evaluations();
  if (options.progress) {
    each.progress = [&](std::int64_t) {
      const std::lock_guard lock(reporting);
      evaluations += kProgressInterval;
      options.progress(evaluations);
    };
  }
  if (options.improved) {
    each.improved = [&](const Incumbent::Improvement& improvement) {
      const std::lock_guard lock(reporting);
      if (improvement.evaluation.better_than(best)) {
        best = improvement.evaluation;
        options.improved({.evaluations = evaluations, .evaluation = best});
      }
    };
  }
  std::vector<std::uint64_t> seeds(count);
  std::ranges::generate(seeds, [this] { return random().next(); });
  std::vector<std::unique_ptr<Evaluator>> children(count);
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, count, 1),
        [&](const auto& range) {
          for (std::size_t i = range.begin(); i < range.end(); ++i) {
            Options own = each;
            own.seed = seeds[i];
            children[i].reset(new Evaluator(finest_.problem(), std::move(own), shared_->pool));
            if (is_finest()) {
              search(i, *children[i]);
            } else {
              Evaluator on_level(*children[i], *problem_);
              search(i, on_level);
            }
          }
        },
        tbb::simple_partitioner());
  });
  for (const std::unique_ptr<Evaluator>& child : children) {
    absorb(*child);
  }
  if (options.progress) {
    options.progress(budget().evaluations());
  }
}

// Its improvements were reported when they came. Each is better than the one before. So if one of
// them is better than what is known here, the last one is, whose placement the child has kept.
void Evaluator::absorb(const Evaluator& child) {
  for (const Incumbent::Improvement& improvement : child.incumbent().improvements()) {
    keep_if_best(*child.incumbent().placement(), improvement.evaluation,
                 budget().evaluations() + improvement.evaluations);
  }
  budget().charge(child.budget().evaluations());
  finest_.prove_bound(child.incumbent().proven_bound_us());
  end_if_enough();
}

Placement Evaluator::constrained(Placement placement) const {
  problem_->constrain(placement);
  return placement;
}

Placement Evaluator::expanded(const Placement& placement) const {
  return is_finest() ? placement : nesting_->expand(placement);
}

// What does not fit may be shorter than the best, and what fits comes before what does not.
double Evaluator::cutoff_us(double cutoff_us) const {
  const Evaluation& best = finest_.incumbent().evaluation();
  return best.status == EvaluationStatus::kOk ? std::max(cutoff_us, best.step_time_us)
                                              : std::numeric_limits<double>::infinity();
}

void Evaluator::outline_of(const SimResult& result, StepOutline& outline) const {
  outline.group_start_us.assign(index_of(problem_->num_groups()),
                                std::numeric_limits<double>::infinity());
  for (OpId op = 0; op < problem_->num_ops(); ++op) {
    double& start_us = outline.group_start_us[problem_->grouping().group_of(op)];
    start_us = std::min(start_us, result.start_us[op]);
  }
  outline.peak_bytes.assign(result.peak_bytes.begin(), result.peak_bytes.end());
}

// Counts an evaluation of a placement of the finest groups.
void Evaluator::record(const Placement& finest, const Evaluation& evaluation) {
  const Options& options = shared_->options;
  budget().charge(1);
  const bool is_best = finest_.incumbent().improved_by(evaluation);
  keep_if_best(finest, evaluation, budget().evaluations());
  end_if_enough();
  if (is_best && options.improved) {
    options.improved(finest_.incumbent().improvements().back());
  }
  if (options.progress && budget().evaluations() % kProgressInterval == 0) {
    options.progress(budget().evaluations());
  }
}

// Keeps a placement of the finest groups on each level where it is the best.
void Evaluator::keep_if_best(const Placement& finest, const Evaluation& evaluation,
                             std::int64_t evaluations) {
  for (Evaluator* level = this; level != nullptr; level = level->finer_) {
    if (level->incumbent_.improved_by(evaluation)) {
      level->incumbent_.update(level->is_finest() ? finest : level->nesting_->coarsen(finest),
                               evaluation, evaluations);
    }
  }
}

void Evaluator::end_if_enough() {
  const Evaluation& best = finest_.incumbent().evaluation();
  if (best.status == EvaluationStatus::kOk && best.step_time_us <= shared_->options.enough_us) {
    budget().end();
  }
}

}  // namespace emplace::agents

#include "annealing.hpp"

#include "memory_penalty.hpp"
#include "move_evaluator.hpp"

#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <optional>
#include <span>

namespace emplace::agents {
namespace {

// Evaluations between two observations of when devices are busy.
constexpr std::int64_t kObservationInterval = 256;

// Evaluations of a cycle for each group, at most, and how hot a cycle may begin.
constexpr std::int64_t kEvaluationsPerGroup = 500;
constexpr double kHottest = 4;  // mean times of a group

// Where an annealing stands.
class Annealing {
 public:
  Annealing(Session& session, const Placement& start, double until_share,
            const AnnealingOptions& options)
      : session_(session),
        moves_(session),
        proposals_(session.problem(), options.moves),
        from_share_(session.share_used()),
        until_share_(until_share),
        options_(options),
        initial_temperature_(options.initial_temperature),
        cycle_begin_(session.evaluations()),
        reached_(moves_.start(start)) {
    observe(reached_);
  }

  void run() {
    while (!session_.exhausted() && session_.share_used() < until_share_) {
      const std::span<const Move> moves = proposals_.propose(moves_.base(), session_.random());
      if (moves.empty()) {
        return;
      }
      try_moves(moves);
      if (options_.cycles && progress() >= 1 && session_.share_used() < until_share_) {
        begin_cycle();
      }
    }
  }

 private:
  void try_moves(std::span<const Move> moves) {
    const double tolerance_us = -temperature_us() * log_of(1 - session_.random().uniform());
    const double refused_us = penalty_.objective_us(reached_) + tolerance_us;
    const bool observes = session_.evaluations() >= next_observation_;
    const Evaluation tried = observes ? moves_.evaluate(moves) : moves_.evaluate(moves, refused_us);
    if (penalty_.objective_us(tried) < refused_us) {
      if (reached_.status == EvaluationStatus::kOk && tried.status != EvaluationStatus::kOk) {
        inside_ = moves_.base();
        reached_inside_ = reached_;
      }
      moves_.accept();
      reached_ = tried;
      if (observes) {
        observe(tried);
      }
    }
    penalty_.update(reached_);
    if (penalty_.is_lost() && inside_) {
      moves_.go_to(*inside_);
      reached_ = reached_inside_;
      penalty_.go_back();
    }
  }

  // Looks at the step of the base, which was evaluated last.
  void observe(const Evaluation& step) {
    if (step.status != EvaluationStatus::kBudgetSpent) {
      moves_.outline(outline_);
      proposals_.observe(moves_.base(), outline_, step.step_time_us);
      next_observation_ = session_.evaluations() + kObservationInterval;
    }
  }

  void begin_cycle() {
    if (const std::optional<Placement>& best = session_.best_placement()) {
      moves_.go_to(*best);
      reached_ = session_.best_evaluation();
    }
    cycle_begin_ = session_.evaluations();
    from_share_ = session_.share_used();
    initial_temperature_ = 2 * initial_temperature_ <= kHottest ? 2 * initial_temperature_
                                                                : options_.initial_temperature;
  }

  // Returns the share of the cycle that is over.
  double progress() const {
    const double of_share =
        (session_.share_used() - from_share_) / std::max(until_share_ - from_share_, 1e-9);
    const double of_evaluations =
        static_cast<double>(session_.evaluations() - cycle_begin_) /
        static_cast<double>(kEvaluationsPerGroup * session_.problem().num_groups());
    return std::max(of_share, of_evaluations);
  }

  double temperature_us() const {
    const double log_ratio = log_of(options_.final_temperature / initial_temperature_);
    return proposals_.mean_time_us() * initial_temperature_ *
           exp_of(log_ratio * std::clamp(progress(), 0.0, 1.0));
  }

  Session& session_;
  MoveEvaluator moves_;
  MoveProposals proposals_;
  MemoryPenalty penalty_;
  double from_share_;
  double until_share_;
  AnnealingOptions options_;
  double initial_temperature_;  // of this cycle
  std::int64_t cycle_begin_;    // evaluations until then
  StepOutline outline_;
  std::int64_t next_observation_ = 0;
  Evaluation reached_;
  std::optional<Placement> inside_;  // the last that fitted before one that did not
  Evaluation reached_inside_;        // of that placement
};

}  // namespace

void anneal(Session& session, const Placement& start, double until_share,
            const AnnealingOptions& options) {
  if (!session.exhausted()) {
    Annealing(session, start, until_share, options).run();
  }
}

}  // namespace emplace::agents

#include "annealing.hpp"

#include "memory_penalty.hpp"

#include <emplace/agents/move_evaluator.hpp>
#include <emplace/base/elementary.hpp>
#include <emplace/base/infinity.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace emplace::agents {
namespace {

// Evaluations between two observations of when devices are busy.
constexpr std::int64_t kObservationInterval = 256;

// Evaluations of a cycle for each group, at most, and how hot a cycle may begin.
constexpr std::int64_t kEvaluationsPerGroup = 500;
constexpr double kHottest = 4;  // mean times of a group

// Share of proposals that change the order, where the placement has priorities.
constexpr double kReorderings = 0.5;
constexpr std::uint64_t kReach = 4;  // groups on the device until the one to swap with

// Where an annealing stands.
class Annealing {
 public:
  Annealing(Evaluator& evaluator, const Coarsening& coarsening, const Placement& start,
            double until_share, const AnnealingOptions& options)
      : evaluator_(evaluator),
        moves_(evaluator),
        proposals_(coarsening, options.moves),
        from_share_(evaluator.budget().share_used()),
        until_share_(until_share),
        options_(options),
        initial_temperature_(options.initial_temperature),
        cycle_begin_(evaluator.budget().evaluations()),
        reached_(moves_.start(start)) {
    observe(reached_);
  }

  void run() {
    while (!evaluator_.budget().exhausted() && evaluator_.budget().share_used() < until_share_) {
      if (!by_start_.empty() && evaluator_.random().uniform() < kReorderings) {
        try_changes(swapped_priorities());
      } else {
        const std::span<const Move> moves = proposals_.propose(moves_.base(), evaluator_.random());
        if (moves.empty()) {
          return;
        }
        try_changes(moves);
      }
      if (options_.cycles && progress() >= 1 && evaluator_.budget().share_used() < until_share_) {
        begin_cycle();
      }
    }
  }

 private:
  // Returns two groups that ran one soon after the other on one device, when it was observed last,
  // with the priorities of each other.
  std::span<const PriorityChange> swapped_priorities() {
    const Placement& base = moves_.base();
    const std::size_t at = evaluator_.random().below(by_start_.size());
    const GroupId one = by_start_[at];
    GroupId other = one;
    std::uint64_t left = 1 + evaluator_.random().below(kReach);
    for (std::size_t next = at + 1; next < by_start_.size() && left > 0; ++next) {
      if (base[by_start_[next]] == base[one]) {
        other = by_start_[next];
        --left;
      }
    }
    swap_ = {{{one, base.priorities()[other]}, {other, base.priorities()[one]}}};
    return swap_;
  }

  // Tries moves or changes of priorities.
  template <class Change>
  void try_changes(std::span<const Change> moves) {
    const double tolerance_us = -temperature_us() * log_of(1 - evaluator_.random().uniform());
    const double refused_us = penalty_.objective_us(reached_) + tolerance_us;
    const bool observes = evaluator_.budget().evaluations() >= next_observation_;
    const Evaluation tried = moves_.evaluate(moves, observes ? kInfinity : refused_us);
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
      next_observation_ = evaluator_.budget().evaluations() + kObservationInterval;
      if (moves_.base().has_priorities()) {
        by_start_.resize(outline_.group_start_us.size());
        std::iota(by_start_.begin(), by_start_.end(), 0);
        std::ranges::stable_sort(by_start_, {},
                                 [this](GroupId group) { return outline_.group_start_us[group]; });
      }
    }
  }

  void begin_cycle() {
    if (const std::optional<Placement>& best = evaluator_.incumbent().placement()) {
      moves_.go_to(*best);
      reached_ = evaluator_.incumbent().evaluation();
    }
    cycle_begin_ = evaluator_.budget().evaluations();
    from_share_ = evaluator_.budget().share_used();
    initial_temperature_ = 2 * initial_temperature_ <= kHottest ? 2 * initial_temperature_
                                                                : options_.initial_temperature;
  }

  // Returns the share of the cycle that is over.
  double progress() const {
    const double of_share = (evaluator_.budget().share_used() - from_share_) /
                            std::max(until_share_ - from_share_, 1e-9);
    const double of_evaluations =
        static_cast<double>(evaluator_.budget().evaluations() - cycle_begin_) /
        static_cast<double>(kEvaluationsPerGroup * evaluator_.problem().num_groups());
    return std::max(of_share, of_evaluations);
  }

  double temperature_us() const {
    const double log_ratio = log_of(options_.final_temperature / initial_temperature_);
    return proposals_.mean_time_us() * initial_temperature_ *
           exp_of(log_ratio * std::clamp(progress(), 0.0, 1.0));
  }

  Evaluator& evaluator_;
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
  std::array<PriorityChange, 2> swap_{};
  std::vector<GroupId> by_start_;    // as observed last; where there are priorities
  std::optional<Placement> inside_;  // the last that fitted before one that did not
  Evaluation reached_inside_;        // of that placement
};

}  // namespace

void anneal(Evaluator& evaluator, const Coarsening& coarsening, const Placement& start,
            double until_share, const AnnealingOptions& options) {
  if (!evaluator.budget().exhausted()) {
    Annealing(evaluator, coarsening, start, until_share, options).run();
  }
}

}  // namespace emplace::agents

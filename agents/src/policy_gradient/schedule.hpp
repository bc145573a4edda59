#pragma once

// Schedules of a training: how a learning rate or an entropy weight falls with the share of the
// budget that is spent.

#include <emplace/agents/evaluator.hpp>
#include <emplace/base/json_cursor.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::policy_gradient {

/// Says how a weight falls from its first value to its last.
enum class Decay : std::uint8_t { kNone, kLinear };

/// Describes how a number changes during a training.
struct Schedule {
  double begin = 0;
  double end = 0;
  Decay decay = Decay::kLinear;
  double share = 1;  ///< of the budget, at the end of which a linear decay reaches its end

  /// Returns the number after a share `progress` of the budget, 0 to 1.
  double at(double progress) const;
};

/// Measures which share of the budgets of some evaluators a training has spent: of their
/// evaluations, or where time is a budget of whichever is used up sooner.
class BudgetProgress {
 public:
  /// Begins now, whatever the evaluators have spent. Requires: they outlive this.
  explicit BudgetProgress(std::span<Evaluator* const> evaluators);

  /// Returns the share, 0 to 1; 0 if there was no budget.
  double share() const;

  /// Returns the evaluations of the evaluators before the beginning.
  std::int64_t evaluations_before() const { return evaluations_before_; }

  /// Restores what evaluations_before() returned. Throws kFormat if the evaluators have spent less
  /// by now. Requires: they were restored, too, before this was made.
  void load(const JsonCursor& evaluations_before);

 private:
  std::vector<Evaluator*> evaluators_;
  std::int64_t evaluations_before_ = 0;
  double shares_before_ = 0;  // sum over the evaluators
};

}  // namespace emplace::agents::policy_gradient

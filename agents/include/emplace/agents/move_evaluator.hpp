#pragma once

// A base placement whose neighbours are simulated (emplace/sim/neighbourhood.hpp), each an
// evaluation. On an evaluator of a coarser level, groups are those of the level.

#include <emplace/agents/evaluator.hpp>
#include <emplace/sim/placement.hpp>

#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace emplace {
class Neighbourhood;
}  // namespace emplace

namespace emplace::agents {

/// Evaluates the neighbours of a placement; one thread.
class MoveEvaluator {
 public:
  /// Requires: the evaluator outlives this.
  explicit MoveEvaluator(Evaluator& evaluator);
  ~MoveEvaluator();

  MoveEvaluator(const MoveEvaluator&) = delete;
  MoveEvaluator& operator=(const MoveEvaluator&) = delete;

  /// Makes `base` the base and evaluates it. Errors as those of Evaluator::evaluate().
  Evaluation start(const Placement& base);

  /// Makes `base`, which was evaluated before, the base.
  void go_to(const Placement& base);

  /// Evaluates the base after moves of different groups. A step of `cutoff_us` or longer is
  /// kCutOff, unless it is the best so far. Requires: there is a base; the devices are placeable.
  Evaluation evaluate(std::span<const Move> moves,
                      double cutoff_us = std::numeric_limits<double>::infinity());

  /// Does the same for other priorities. Requires: the base has priorities.
  Evaluation evaluate(std::span<const PriorityChange> changes, double cutoff_us);

  /// Sets `outline` to that of the step that was evaluated last. Requires: it was not cut off.
  void outline(StepOutline& outline) const;

  /// Makes the placement that was evaluated last the base. Requires: it was not cut off.
  void accept();

  /// Returns the base.
  const Placement& base() const;

 private:
  Evaluation record(const SimResult& result);
  std::span<const Move> allowed(std::span<const Move> moves);

  Evaluator& evaluator_;
  std::unique_ptr<Neighbourhood> neighbourhood_;  // of the finest groups
  const SimResult* last_ = nullptr;
  Placement base_;                   // on a coarser level
  std::vector<Move> allowed_moves_;  // under constraints
  std::vector<Move> finest_moves_;   // of the members of a coarse group
  std::vector<PriorityChange> finest_changes_;
};

}  // namespace emplace::agents

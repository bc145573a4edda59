#pragma once

// Where a search stands, and what the moves from there would give: a base placement whose
// neighbours are simulated (emplace/sim/neighbourhood.hpp), each an evaluation of the session. On a
// session of a coarser level, groups are those of the level.

#include <emplace/agents/session.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/sim/neighbourhood.hpp>
#include <emplace/sim/placement.hpp>

#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace emplace::agents {

/// Evaluates the neighbours of a placement; one thread.
class MoveEvaluator {
 public:
  /// Requires: the session outlives this.
  explicit MoveEvaluator(Session& session);
  ~MoveEvaluator();

  MoveEvaluator(const MoveEvaluator&) = delete;
  MoveEvaluator& operator=(const MoveEvaluator&) = delete;

  /// Makes `base` the base and evaluates it. Errors as those of Session::evaluate().
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
  const Placement& base() const { return base_; }

 private:
  void take_back();
  bool is_finest() const { return &session_ == &finest_; }
  Evaluation record(const SimResult& result);

  Session& session_;
  Session& finest_;  // the session itself, or the one above all levels
  std::unique_ptr<Neighbourhood> neighbourhood_;
  IdVector<GroupId, std::vector<GroupId>> members_;  // of a coarse group: groups of `finest_`
  const SimResult* last_ = nullptr;
  Placement base_;
  Placement tried_;
  std::vector<Move> moves_;                   // from base_ to tried_
  std::vector<PriorityChange> changes_;       // from base_ to tried_
  std::vector<Move> fine_moves_;              // moves_ in the groups of `finest_`
  std::vector<PriorityChange> fine_changes_;  // changes_ in the groups of `finest_`
};

}  // namespace emplace::agents

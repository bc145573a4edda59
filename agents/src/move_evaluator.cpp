#include "coarsening/group_nesting.hpp"
#include "neighbourhood_pool.hpp"

#include <emplace/agents/move_evaluator.hpp>
#include <emplace/sim/neighbourhood.hpp>

#include <algorithm>

namespace emplace::agents {
namespace {

// Returns the changes of the groups that make up those of a coarser level.
template <class Change>
std::span<const Change> of_members(std::span<const Change> changes, const GroupNesting& nesting,
                                   std::vector<Change>& of_members) {
  of_members.clear();
  for (Change change : changes) {
    for (const GroupId group : nesting.members(change.group)) {
      change.group = group;
      of_members.push_back(change);
    }
  }
  return of_members;
}

}  // namespace

MoveEvaluator::MoveEvaluator(Evaluator& evaluator)
    : evaluator_(evaluator), neighbourhood_(evaluator_.pool().borrow()) {}

MoveEvaluator::~MoveEvaluator() { evaluator_.pool().give_back(std::move(neighbourhood_)); }

Evaluation MoveEvaluator::start(const Placement& base) {
  evaluator_.incumbent().check(base);
  go_to(base);
  return evaluator_.budget().exhausted() ? Evaluation{} : record(neighbourhood_->start());
}

void MoveEvaluator::go_to(const Placement& base) {
  if (!evaluator_.is_finest()) {
    base_ = evaluator_.constrained(base);
    neighbourhood_->go_to(evaluator_.expanded(base_));
  } else if (evaluator_.problem().constraints().empty()) {
    neighbourhood_->go_to(base);
  } else {
    neighbourhood_->go_to(evaluator_.constrained(base));
  }
}

// Leaves out moves of pinned groups, and adds those of tied ones.
std::span<const Move> MoveEvaluator::allowed(std::span<const Move> moves) {
  const Problem& problem = evaluator_.problem();
  const GroupConstraints& constraints = problem.constraints();
  if (constraints.empty()) {
    return moves;
  }
  allowed_moves_.clear();
  for (const Move& move : moves) {
    if (constraints.pinned_device(move.group) != Problem::kNotPinned) {
      continue;
    }
    const std::span<const GroupId> tied = constraints.tied_to(move.group);
    if (tied.empty()) {
      allowed_moves_.push_back(move);
    } else if (std::ranges::find(allowed_moves_, tied.front(), &Move::group) ==
               allowed_moves_.end()) {
      for (const GroupId group : tied) {
        allowed_moves_.push_back({.group = group, .device = move.device});
      }
    }
  }
  return allowed_moves_;
}

Evaluation MoveEvaluator::evaluate(std::span<const Move> moves, double cutoff_us) {
  if (evaluator_.budget().exhausted()) {
    return {};
  }
  moves = allowed(moves);
  if (!evaluator_.is_finest()) {
    moves = of_members(moves, *evaluator_.nesting_, finest_moves_);
  }
  return record(neighbourhood_->try_moves(moves, evaluator_.cutoff_us(cutoff_us)));
}

Evaluation MoveEvaluator::evaluate(std::span<const PriorityChange> changes, double cutoff_us) {
  if (evaluator_.budget().exhausted()) {
    return {};
  }
  if (!evaluator_.is_finest()) {
    changes = of_members(changes, *evaluator_.nesting_, finest_changes_);
  }
  return record(neighbourhood_->try_priorities(changes, evaluator_.cutoff_us(cutoff_us)));
}

Evaluation MoveEvaluator::record(const SimResult& result) {
  last_ = &result;
  const Evaluation evaluation = evaluation_of(result);
  evaluator_.record(neighbourhood_->tried(), evaluation);
  return evaluation;
}

void MoveEvaluator::outline(StepOutline& outline) const { evaluator_.outline_of(*last_, outline); }

void MoveEvaluator::accept() {
  neighbourhood_->accept();
  if (!evaluator_.is_finest()) {
    base_ = evaluator_.nesting_->coarsen(neighbourhood_->base());
  }
}

const Placement& MoveEvaluator::base() const {
  return evaluator_.is_finest() ? neighbourhood_->base() : base_;
}

}  // namespace emplace::agents

#include "coarsening/group_nesting.hpp"
#include "neighbourhood_pool.hpp"

#include <emplace/agents/move_evaluator.hpp>
#include <emplace/sim/neighbourhood.hpp>

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
  if (evaluator_.is_finest()) {
    neighbourhood_->go_to(base);
  } else {
    base_ = base;
    neighbourhood_->go_to(evaluator_.expanded(base));
  }
}

Evaluation MoveEvaluator::evaluate(std::span<const Move> moves, double cutoff_us) {
  if (evaluator_.budget().exhausted()) {
    return {};
  }
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

#include "move_evaluator.hpp"

#include "neighbourhood_pool.hpp"

namespace emplace::agents {

MoveEvaluator::MoveEvaluator(Session& session)
    : session_(session), finest_(session.finest()), neighbourhood_(finest_.pool_->borrow()) {
  if (!is_finest()) {
    members_.resize(index_of(session_.problem().num_groups()));
    for (GroupId group = 0; group < finest_.problem().num_groups(); ++group) {
      members_[session_.coarse_of(group)].push_back(group);
    }
  }
}

MoveEvaluator::~MoveEvaluator() { finest_.pool_->give_back(std::move(neighbourhood_)); }

Evaluation MoveEvaluator::start(const Placement& base) {
  session_.check(base);
  go_to(base);
  return session_.exhausted() ? Evaluation{} : record(neighbourhood_->start());
}

void MoveEvaluator::go_to(const Placement& base) {
  base_ = base;
  tried_ = base;
  moves_.clear();
  changes_.clear();
  neighbourhood_->go_to(is_finest() ? base : session_.expand_to_finest(base));
}

Evaluation MoveEvaluator::evaluate(std::span<const Move> moves, double cutoff_us) {
  if (session_.exhausted()) {
    return {};
  }
  take_back();
  moves_.assign(moves.begin(), moves.end());
  for (const Move& move : moves_) {
    tried_[move.group] = move.device;
  }
  std::span<const Move> fine_moves = moves_;
  if (!is_finest()) {
    fine_moves_.clear();
    for (const Move& move : moves_) {
      for (const GroupId group : members_[move.group]) {
        fine_moves_.push_back({group, move.device});
      }
    }
    fine_moves = fine_moves_;
  }
  return record(neighbourhood_->try_moves(fine_moves, finest_.cutoff_us(cutoff_us)));
}

Evaluation MoveEvaluator::evaluate(std::span<const PriorityChange> changes, double cutoff_us) {
  if (session_.exhausted()) {
    return {};
  }
  take_back();
  changes_.assign(changes.begin(), changes.end());
  for (const PriorityChange& change : changes_) {
    tried_.set_priority(change.group, change.priority);
  }
  std::span<const PriorityChange> fine_changes = changes_;
  if (!is_finest()) {
    fine_changes_.clear();
    for (const PriorityChange& change : changes_) {
      for (const GroupId group : members_[change.group]) {
        fine_changes_.push_back({group, change.priority});
      }
    }
    fine_changes = fine_changes_;
  }
  return record(neighbourhood_->try_priorities(fine_changes, finest_.cutoff_us(cutoff_us)));
}

// Makes tried_ the base again.
void MoveEvaluator::take_back() {
  for (const Move& move : moves_) {
    tried_[move.group] = base_[move.group];
  }
  for (const PriorityChange& change : changes_) {
    tried_.set_priority(change.group, base_.priorities()[change.group]);
  }
  moves_.clear();
  changes_.clear();
}

Evaluation MoveEvaluator::record(const SimResult& result) {
  last_ = &result;
  const Evaluation evaluation = evaluation_of(result);
  finest_.record(neighbourhood_->tried(), evaluation);
  session_.keep_on_levels(tried_, evaluation);
  return evaluation;
}

void MoveEvaluator::outline(StepOutline& outline) const { session_.outline_of(*last_, outline); }

void MoveEvaluator::accept() {
  for (const Move& move : moves_) {
    base_[move.group] = move.device;
  }
  for (const PriorityChange& change : changes_) {
    base_.set_priority(change.group, change.priority);
  }
  moves_.clear();
  changes_.clear();
  neighbourhood_->accept();
}

}  // namespace emplace::agents

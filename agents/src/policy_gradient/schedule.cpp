#include "schedule.hpp"

#include <algorithm>

namespace emplace::agents::policy_gradient {

double Schedule::at(double progress) const {
  return decay == Decay::kNone ? begin : begin + (end - begin) * std::min(1.0, progress / share);
}

BudgetProgress::BudgetProgress(std::span<Evaluator* const> evaluators)
    : evaluators_(evaluators.begin(), evaluators.end()) {
  for (const Evaluator* evaluator : evaluators_) {
    evaluations_before_ += evaluator->budget().evaluations();
    shares_before_ += evaluator->budget().share_used();
  }
}

void BudgetProgress::load(const JsonCursor& evaluations_before) {
  evaluations_before_ = evaluations_before.integer(0, evaluations_before_);
}

double BudgetProgress::share() const {
  if (std::ranges::any_of(evaluators_, [](const Evaluator* evaluator) {
        return evaluator->budget().seconds_left().has_value();
      })) {
    double used = -shares_before_;
    for (const Evaluator* evaluator : evaluators_) {
      used += evaluator->budget().share_used();
    }
    const double all = static_cast<double>(evaluators_.size()) - shares_before_;
    return all > 0 ? used / all : 1;
  }
  std::int64_t spent = -evaluations_before_;
  std::int64_t left = 0;
  for (const Evaluator* evaluator : evaluators_) {
    spent += evaluator->budget().evaluations();
    left += evaluator->budget().evaluations_left();
  }
  return spent + left > 0 ? static_cast<double>(spent) / static_cast<double>(spent + left) : 0;
}

}  // namespace emplace::agents::policy_gradient

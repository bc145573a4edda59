#include "schedule.hpp"

#include <algorithm>

namespace emplace::agents::policy_gradient {

double Schedule::at(double progress) const {
  return decay == Decay::kNone ? begin : begin + (end - begin) * std::min(1.0, progress / share);
}

BudgetProgress::BudgetProgress(std::span<Session* const> sessions)
    : sessions_(sessions.begin(), sessions.end()) {
  for (const Session* session : sessions_) {
    evaluations_before_ += session->evaluations();
    shares_before_ += session->share_used();
  }
}

void BudgetProgress::load(const JsonCursor& evaluations_before) {
  evaluations_before_ = evaluations_before.integer(0, evaluations_before_);
}

double BudgetProgress::share() const {
  if (std::ranges::any_of(
          sessions_, [](const Session* session) { return session->seconds_left().has_value(); })) {
    double used = -shares_before_;
    for (const Session* session : sessions_) {
      used += session->share_used();
    }
    const double all = static_cast<double>(sessions_.size()) - shares_before_;
    return all > 0 ? used / all : 1;
  }
  std::int64_t spent = -evaluations_before_;
  std::int64_t left = 0;
  for (const Session* session : sessions_) {
    spent += session->evaluations();
    left += session->evaluations_left();
  }
  return spent + left > 0 ? static_cast<double>(spent) / static_cast<double>(spent + left) : 0;
}

}  // namespace emplace::agents::policy_gradient

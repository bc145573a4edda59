#include <emplace/agents/budget.hpp>

#include <tbb/task_arena.h>

#include <algorithm>

namespace emplace::agents {

std::int64_t Budget::evaluations_left() const {
  if (has_ended_ || stopped() || share_of_time() >= 1) {
    return 0;
  }
  return std::max<std::int64_t>(0, limits_.max_evaluations - evaluations_);
}

double Budget::share_used() const {
  const double of_evaluations =
      limits_.max_evaluations > 0
          ? static_cast<double>(evaluations_) / static_cast<double>(limits_.max_evaluations)
          : 1.0;
  return std::min(1.0, std::max(of_evaluations, share_of_time()));
}

std::optional<double> Budget::seconds_left() const {
  if (!limits_.max_time) {
    return std::nullopt;
  }
  return std::max(0.0, limits_.max_time->count() * (1 - share_of_time()));
}

bool Budget::stopped() const {
  return limits_.stop != nullptr && limits_.stop->load(std::memory_order_relaxed);
}

std::size_t Budget::concurrency() const {
  return limits_.max_time ? static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()) : 1;
}

Budget::Limits Budget::split(std::size_t count, double share) const {
  Limits each{.max_evaluations = static_cast<std::int64_t>(
                  share * static_cast<double>(evaluations_left()) / static_cast<double>(count)),
              .stop = limits_.stop};
  if (limits_.max_time) {
    // As many as there are threads run at a time.
    const std::size_t num_rounds = (count + concurrency() - 1) / concurrency();
    each.max_time =
        *limits_.max_time * (1 - share_of_time()) * share / static_cast<double>(num_rounds);
  }
  return each;
}

double Budget::share_of_time() const {
  return limits_.max_time ? (Clock::now() - begin_) / *limits_.max_time : 0.0;
}

}  // namespace emplace::agents

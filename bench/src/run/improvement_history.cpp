#include "improvement_history.hpp"

#include <emplace/base/check.hpp>

namespace emplace::bench {

void ImprovementClock::note(const agents::Incumbent::Improvement& improvement) {
  noted_.push_back(
      {.evaluations = improvement.evaluations,
       .evaluation = improvement.evaluation,
       .seconds =
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count()});
}

std::vector<Improvement> ImprovementClock::timed(
    std::span<const agents::Incumbent::Improvement> improvements) const {
  std::vector<Improvement> timed;
  // Searches side by side report in another order than the evaluator counts them. Both lists get
  // better all the time, so the first that is as good never lies further back.
  auto at = noted_.begin();
  for (const agents::Incumbent::Improvement& improvement : improvements) {
    while (at != noted_.end() && improvement.evaluation.better_than(at->evaluation)) {
      ++at;
    }
    EMPLACE_CHECK(at != noted_.end(), "no improvement after {} evaluations was reported",
                  improvement.evaluations);
    timed.push_back({.evaluations = improvement.evaluations,
                     .evaluation = improvement.evaluation,
                     .seconds = at->seconds});
  }
  return timed;
}

std::vector<Improvement> thin_out(std::span<const Improvement> improvements, double share) {
  std::vector<Improvement> kept;
  for (const Improvement& improvement : improvements) {
    const bool is_step = kept.empty() ||
                         improvement.evaluation.status != kept.back().evaluation.status ||
                         improvement.evaluation.objective_us() <=
                             (1 - share) * kept.back().evaluation.objective_us();
    if (is_step || &improvement == &improvements.back()) {
      kept.push_back(improvement);
    }
  }
  return kept;
}

}  // namespace emplace::bench

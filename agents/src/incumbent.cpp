#include <emplace/agents/incumbent.hpp>
#include <emplace/agents/placeable.hpp>

namespace emplace::agents {

void Incumbent::check(const Placement& placement) const {
  if (!any_device_) {
    require_placeable(*problem_, placement, "the placement");
  }
}

bool Incumbent::update(const Placement& placement, const Evaluation& evaluation,
                       std::int64_t evaluations) {
  if (!improved_by(evaluation)) {
    return false;
  }
  placement_ = placement;
  evaluation_ = evaluation;
  improvements_.push_back({evaluations, evaluation});
  return true;
}

std::int64_t Incumbent::evaluations_to_within(double share) const {
  const auto found = std::ranges::find_if(improvements_, [&](const Improvement& improvement) {
    const Evaluation& evaluation = improvement.evaluation;
    return evaluation.status == evaluation_.status &&
           evaluation.objective_us() <= (1 + share) * evaluation_.objective_us();
  });
  return found == improvements_.end() ? 0 : found->evaluations;
}

}  // namespace emplace::agents

#include "rollout.hpp"

#include <algorithm>

namespace emplace::agents::placeto {

Observation Rollout::observation(std::size_t i) const {
  const std::size_t num_groups = order_.size();
  const std::size_t worker = i % workers_;
  const std::size_t at = i / workers_;
  Observation observation{.current = order_[at],
                          .devices = starts_[worker],
                          .start_times = start_times_[start_times_.size() == 1 ? 0 : i],
                          .visits = std::vector<std::uint8_t>(num_groups)};
  for (std::size_t group = 0; group < num_groups; ++group) {
    if (position_[group] < at) {
      observation.visits[group] = 1;
      observation.devices[group] = actions_[position_[group] * workers_ + worker];
    }
  }
  return observation;
}

std::vector<double> Rollout::returns(const EpisodeOptions& options) const {
  std::vector<double> returns(num_decisions());
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    double later = 0;  // the discounted rewards after this step
    const std::size_t steps = num_decisions() / workers_;
    double least = times_[steps * workers_ + worker];  // after this step
    for (std::size_t step = steps; step-- > 0;) {
      const double before = times_[step * workers_ + worker];
      const double after = times_[(step + 1) * workers_ + worker];
      double& result = returns[step * workers_ + worker];
      switch (options.reward) {
        case Reward::kStep:
          result = (before - after) + options.discount * later;
          later = result;
          break;
        case Reward::kTerminal:
          result = -times_[steps * workers_ + worker];
          break;
        case Reward::kMinimum:
          least = std::min(least, after);
          result = before - least;
          break;
      }
    }
  }
  return returns;
}

}  // namespace emplace::agents::placeto

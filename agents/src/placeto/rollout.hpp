#pragma once

// What happened in a round of episodes: the states, actions and times, from which returns follow.

#include "placeto/network.hpp"
#include "placeto/options.hpp"

#include <emplace/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::placeto {

/// Holds the decisions of one round of parallel episodes, step by step, worker by worker. A visit
/// moves one group, so the placements follow from the starts and the actions; what is kept of each
/// decision, besides, are the start times, if each step is simulated.
class Rollout {
 public:
  std::size_t num_decisions() const { return actions_.size(); }
  std::size_t workers() const { return workers_; }

  /// Returns the state in which decision `i` was made; its start times are valid until the next
  /// round. O(groups).
  Observation observation(std::size_t i) const;

  /// Returns the actions: the chosen devices, as indices of placeable ones.
  std::span<const std::int32_t> actions() const { return actions_; }

  /// Returns the time of each worker's placement before the first step and after each step.
  std::span<const double> times() const { return times_; }

  /// Returns the mean objective of the workers' last placements.
  double last_us() const { return last_us_; }

  /// Returns the mean entropy of the policy over the decisions, in nats.
  double entropy() const { return entropy_sum_ / static_cast<double>(num_decisions()); }

  /// Returns the return of each decision.
  std::vector<double> returns(const EpisodeOptions& options) const;

 private:
  friend class RolloutCollector;

  GroupId visited_at(std::size_t step) const { return order_[step]; }

  std::size_t workers_ = 0;
  std::vector<GroupId> order_;                     // of the visits
  std::vector<std::size_t> position_;              // in order_, by group
  std::vector<std::vector<std::int32_t>> starts_;  // devices at first, by worker, group
  std::vector<std::int32_t> actions_;              // by decision
  // By decision, group; one row of zeros for all where no step is simulated.
  std::vector<std::vector<float>> start_times_;
  std::vector<double> times_;
  double last_us_ = 0;
  double entropy_sum_ = 0;
};

}  // namespace emplace::agents::placeto

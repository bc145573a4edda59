#pragma once

// The environment of Placeto's policy: one problem, with the order of visits, where episodes start,
// what a placement costs, and what lasts from episode to episode.

#include "placeto/features.hpp"
#include "placeto/options.hpp"
#include "placeto/rollout.hpp"
#include "policy_gradient/baseline.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/base/json_cursor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::placeto {

/// Returns the largest number of evaluations that an episode on `num_groups` groups takes.
std::int64_t evaluations_per_episode(const EpisodeOptions& options, GroupId num_groups);

/// Is the environment of the policy: one problem, with what lasts from episode to episode.
struct Environment {
  /// Throws Error of kUnsupported if there are more groups than episodes have memory for.
  Environment(Evaluator& environment_evaluator, const Options& all_options);

  /// Returns the order, the fixed starts and the baseline as a JSON object.
  std::string to_json() const;

  /// Restores what to_json() wrote for the same problem; throws kFormat if it is something else.
  void load(const JsonCursor& json);

  /// Returns the largest number of evaluations of one episode.
  std::int64_t evaluations_per_episode() const {
    return placeto::evaluations_per_episode(options, evaluator->problem().num_groups());
  }

  /// Returns the placement with which the next episode of a worker starts.
  Placement next_start(std::size_t worker) const;

  /// Returns the cost of a placement for rewards: its step time in units of time, plus the memory
  /// penalty, at most the cap.
  double time_of(const Evaluation& evaluation, const StepOutline& outline) const;

  /// Sets the device of each group, as an index of a placeable one.
  void read_devices(const Placement& placement, std::span<std::int32_t> devices) const;

  Evaluator* evaluator;
  EpisodeOptions options;
  bool keeps_start_times;  ///< in rollouts: each step is simulated
  Graph graph;
  std::vector<GroupId> order;           ///< of visits
  std::vector<Placement> fixed_starts;  ///< by worker; one for all unless each draws its own
  double us_per_unit = 1;
  policy_gradient::StepBaseline baseline;
  Rollout rollout;  ///< of the last round of episodes
};

}  // namespace emplace::agents::placeto

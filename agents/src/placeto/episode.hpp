#pragma once

// An episode of Placeto: every group is visited, its device is chosen anew, and after each action
// the step is simulated. Several workers run episodes of one problem side by side, so that one
// forward pass computes all their actions and the session evaluates their placements in parallel.

#include "placeto/network.hpp"

#include <emplace/agents/session.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::placeto {

/// Averages the returns at each step over the last episodes.
class StepBaseline {
 public:
  explicit StepBaseline(std::size_t episodes) : episodes_(episodes) {}

  /// Adds the returns of `workers` parallel episodes (step by step, worker by worker), and
  /// subtracts from them the mean at each step, these returns included.
  void subtract_from(std::vector<double>& returns, std::size_t workers);

  /// Returns the means of the last episodes as a JSON array of arrays.
  std::string to_json() const;

  /// Restores what to_json() wrote for episodes of `steps`, the same bits; throws kFormat if it is
  /// something else.
  void load(const JsonCursor& json, std::size_t steps);

 private:
  std::size_t episodes_;
  std::deque<std::vector<double>> means_;  // over workers, by step
};

/// Holds the decisions of one round of parallel episodes, step by step, worker by worker.
class Rollout {
 public:
  std::size_t num_decisions() const { return actions_.size(); }
  std::size_t workers() const { return workers_; }

  /// Returns the state in which decision `i` was made; valid until the next round.
  Observation observation(std::size_t i) const;

  /// Returns the actions: the chosen devices, as indices of placeable ones.
  std::span<const std::int32_t> actions() const { return actions_; }

  /// Returns the time of each worker's placement before the first step and after each step.
  std::span<const double> times() const { return times_; }

  /// Returns the mean objective of the workers' last placements.
  double last_us() const { return last_us_; }

  /// Returns the mean entropy of the policy over the decisions, in nats.
  double entropy() const { return entropy_sum_ / static_cast<double>(num_decisions()); }

  /// Returns the return of each decision; where all actions were simulated, only the part after its
  /// immediate reward, which action_values() holds.
  std::vector<double> returns(const EpisodeOptions& options) const;

  /// Returns the immediate reward of every action, decision by decision; empty unless all actions
  /// were simulated.
  std::vector<float> action_values() const;

 private:
  friend class RolloutCollector;

  std::size_t workers_ = 0;
  std::size_t num_groups_ = 0;
  std::vector<GroupId> current_;       // by step
  std::vector<std::uint8_t> visits_;   // by step, group
  std::vector<std::int32_t> devices_;  // by decision, group
  std::vector<float> start_times_;     // by decision, group
  std::vector<std::int32_t> actions_;  // by decision
  std::vector<double> times_;
  std::vector<double> times_by_action_;  // by decision, device; empty unless all were simulated
  double last_us_ = 0;
  double entropy_sum_ = 0;
};

/// Returns the number of groups that an episode of `problem` visits.
GroupId visited_groups(const EpisodeOptions& options, const Problem& problem);

/// Returns the largest number of evaluations that an episode of `problem` takes.
std::int64_t evaluations_per_episode(const EpisodeOptions& options, const Problem& problem);

/// Is the environment of the policy: one problem, with what lasts from episode to episode.
struct Environment {
  Environment(Session& environment_session, const Options& all_options);

  /// Makes an environment for one round of episodes that start from `start` and visit coarser
  /// groups: those of `coarse_problem`, which has the same ops and devices. `coarse_of_group` is
  /// the coarse group of each group of the session's problem.
  Environment(const Environment& fine, Placement start,
              std::shared_ptr<const Problem> coarse_problem,
              IdVector<GroupId, GroupId> coarse_of_group);

  /// Restores what to_json() wrote for the same session's problem; throws kFormat if it is
  /// something else.
  static Environment restored(Session& session, const Options& options, const JsonCursor& json);

  /// Returns the order, the fixed start and the baseline as a JSON object.
  std::string to_json() const;

  /// Returns the largest number of evaluations of one episode.
  std::int64_t evaluations_per_episode() const {
    return placeto::evaluations_per_episode(options, session->problem());
  }

  /// Returns the placement with which the next episode starts. Greedy episodes ignore the
  /// random-start probability.
  Placement next_start(bool greedy) const;

  /// Returns the cost of a placement for rewards: its step time in units of time, plus the memory
  /// penalty, at most the cap.
  double time_of(const Evaluation& evaluation, const StepOutline& outline) const;

  /// Sets the device of each visited group, as an index of a placeable one: the device of most of
  /// its members, by time.
  void read_devices(const Placement& placement, std::span<std::int32_t> devices) const;

  /// Returns the start of each visited group, in us.
  IdVector<GroupId, double> starts_us(const StepOutline& outline) const;

  /// Moves a visited group to a device.
  void assign(Placement& placement, GroupId group, DeviceId device) const;

  Session* session;
  EpisodeOptions options;
  std::shared_ptr<const Problem> coarse;  ///< whose groups are visited; null: the session's problem
  IdVector<GroupId, GroupId> coarse_of;   ///< by group of the session's problem; empty: the same
  Graph graph;                            ///< of the visited groups
  std::vector<GroupId> order;             ///< of visits
  Placement fixed_start;
  double us_per_unit = 1;
  StepBaseline baseline;
  Rollout rollout;  ///< of the last round of episodes
};

/// Collects rollouts: runs episodes with the present policy.
class RolloutCollector {
 public:
  /// Uses the policy of `network`. Requires: it outlives this.
  explicit RolloutCollector(const Network<float>& network);

  /// Runs an episode for each of `workers`, 1 to 8, with greedy or sampled actions, and stores it
  /// in the environment's rollout. Returns false if the budget ended first.
  bool collect(Environment& environment, std::size_t workers, bool greedy);

 private:
  // The outcome of a simulated placement.
  struct Outcome {
    StepOutline outline{};
    double time = 0;
    double objective_us = 0;
  };

  // Evaluates the workers' placements, all or those that changed; returns false if the budget
  // ended.
  bool simulate(Environment& environment, bool all);
  // Does the same for each device of the current group.
  bool simulate_all_actions(Environment& environment, std::size_t step);
  // Makes the outcomes of the chosen actions those of the step.
  void keep_chosen(const Environment& environment, std::size_t step);
  // Evaluates the queue; returns false if the budget ended.
  bool evaluate_queue(Environment& environment);
  void observe(Environment& environment, std::size_t step);
  void act(Environment& environment, std::size_t step, bool greedy);

  const Network<float>* network_;
  nn::Tape<float> tape_;
  Network<float>::Lists lists_;
  std::vector<Placement> placements_;  // by worker
  std::vector<Placement> simulated_;   // by worker: the last one evaluated, and its outcome
  std::vector<Outcome> outcomes_;
  std::vector<Outcome> outcomes_by_action_;  // by worker, device of the current group
  std::vector<Placement> queue_;             // to be evaluated, and where the outcomes belong
  std::vector<Outcome*> queue_outcomes_;
  std::vector<StepOutline> queue_outlines_;
  std::vector<Observation> observations_;
  std::vector<double> probabilities_;
};

}  // namespace emplace::agents::placeto

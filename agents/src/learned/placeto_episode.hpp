#pragma once

// An episode of Placeto: every group is visited once and its device chosen anew, and after each
// choice the step is simulated. Several workers play side by side on one problem, so that the
// network takes their decisions in one pass and the session simulates their placements in parallel.

#include "learned/placeto_network.hpp"

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

/// Averages the return at each step of the last episodes.
class StepBaseline {
 public:
  explicit StepBaseline(std::size_t episodes) : episodes_(episodes) {}

  /// Adds the returns of `workers` episodes that were played side by side (step after step, worker
  /// by worker) and takes the mean at each step, these included, off them.
  void subtract_from(std::vector<double>& returns, std::size_t workers);

  /// Returns what the last episodes gave, as a JSON array of an array for each.
  std::string to_json() const;

  /// Takes what to_json() wrote of episodes of `steps`, the same bits; throws kFormat if it is
  /// something else.
  void load(const JsonCursor& json, std::size_t steps);

 private:
  std::size_t episodes_;
  std::deque<std::vector<double>> means_;  // over workers, by step
};

/// Holds the decisions of the workers in one round of episodes, step after step, worker by worker.
class Rollout {
 public:
  std::size_t num_decisions() const { return actions_.size(); }
  std::size_t workers() const { return workers_; }

  /// Returns the state in which a decision was made; valid until the next round.
  Decision decision(std::size_t i) const;

  /// Returns the devices that were chosen, among the placeable ones.
  std::span<const std::int32_t> actions() const { return actions_; }

  /// Returns the time of each worker's placement before the first step and after each step.
  std::span<const double> times() const { return times_; }

  /// Returns the mean objective of the workers' last placements.
  double last_us() const { return last_us_; }

  /// Returns the mean entropy of the decisions, in nats.
  double entropy() const { return entropy_sum_ / static_cast<double>(num_decisions()); }

  /// Returns what each decision gained in the end, or, where all devices were simulated, what
  /// others gained after it.
  std::vector<double> returns(const EpisodeOptions& options) const;

  /// Returns what each device would have gained at once, decision after decision; nothing unless
  /// all were simulated.
  std::vector<float> gains() const;

 private:
  friend class Player;

  std::size_t workers_ = 0;
  std::size_t num_groups_ = 0;
  std::vector<GroupId> current_;       // by step
  std::vector<std::uint8_t> done_;     // by step, group
  std::vector<std::int32_t> devices_;  // by decision, group
  std::vector<float> starts_;          // by decision, group
  std::vector<std::int32_t> actions_;  // by decision
  std::vector<double> times_;
  std::vector<double> times_on_;  // by decision, device; empty unless all were simulated
  double last_us_ = 0;
  double entropy_sum_ = 0;
};

/// Returns how many groups an episode visits of `problem`.
GroupId visited_groups(const EpisodeOptions& options, const Problem& problem);

/// Returns the evaluations that an episode takes of `problem`.
std::int64_t evaluations_per_episode(const EpisodeOptions& options, const Problem& problem);

/// Holds what belongs to one problem from episode to episode.
struct Course {
  Course(Session& session, const Options& options);

  /// Makes a course of one round of episodes from `start` over coarser groups: those of
  /// `coarse_problem`, which has the same ops and devices. `coarse_of_group` tells the coarse group
  /// of each group of the session's problem.
  Course(const Course& fine, Placement start, std::shared_ptr<const Problem> coarse_problem,
         std::vector<GroupId> coarse_of_group);

  /// Takes up a course of the same session's problem where to_json() left it; throws kFormat if
  /// that was something else.
  static Course restored(Session& session, const Options& options, const JsonCursor& json);

  /// Returns what was drawn and the baseline, as a JSON object.
  std::string to_json() const;

  /// Returns the evaluations of one episode.
  std::int64_t evaluations_per_episode() const {
    return placeto::evaluations_per_episode(options, session->problem());
  }

  /// Returns the placement with which the next episode starts; greedy ones never start afresh.
  Placement next_start(bool greedy) const;

  /// Returns what a step counts: units of time, with the penalty for memory and the cap.
  double time_of(const Evaluation& evaluation, const StepOutline& outline) const;

  /// Sets which of the placeable devices each visited group is on: that of most of its members, by
  /// time.
  void read_devices(const Placement& placement, std::span<std::int32_t> devices) const;

  /// Returns when each visited group starts.
  std::vector<double> starts_us(const StepOutline& outline) const;

  /// Puts a visited group on a device.
  void put(Placement& placement, GroupId group, DeviceId device) const;

  Session* session;
  EpisodeOptions options;
  std::shared_ptr<const Problem> coarse;  ///< whose groups are visited; null: the session's
  std::vector<GroupId> coarse_of;         ///< by group of the session's problem; empty: itself
  Graph graph;                            ///< of the groups that are visited
  std::vector<GroupId> order;             ///< in which groups are visited
  Placement fixed_start;
  double us_per_unit = 1;
  StepBaseline baseline;
  Rollout rollout;  ///< of the last round of episodes
};

/// Plays episodes.
class Player {
 public:
  /// Plays with `network`. Requires: it outlives this.
  explicit Player(const Network<float>& network);

  /// Plays an episode for each of `workers`, 1 to 8. If `greedy`, each takes the likeliest devices.
  /// Leaves what they did in the course's rollout; says false if the budget ended first.
  bool play(Course& course, std::size_t workers, bool greedy);

 private:
  // Holds what a simulated step tells.
  struct Step {
    StepOutline outline{};
    double time = 0;
    double objective_us = 0;
  };

  // Simulates the workers' placements, or those that changed; says whether the budget sufficed.
  bool simulate(Course& course, bool all);
  // Does the same with the current group on each device.
  bool simulate_all_devices(Course& course, std::size_t step);
  // Takes what that told of the devices that were chosen.
  void take_chosen(const Course& course, std::size_t step);
  // Simulates what was asked for; says whether the budget sufficed.
  bool answer(Course& course);
  void write_down(Course& course, std::size_t step);
  void choose(Course& course, std::size_t step, bool greedy);

  const Network<float>* network_;
  nn::Tape<float> tape_;
  Network<float>::Lists lists_;
  std::vector<Placement> placements_;  // by worker
  std::vector<Placement> simulated_;   // by worker, and what it gave
  std::vector<Step> steps_;
  std::vector<Step> steps_on_;    // by worker, device of the current group
  std::vector<Placement> asked_;  // for a simulation, and who waits for it
  std::vector<Step*> asking_;
  std::vector<StepOutline> answers_;
  std::vector<Decision> decisions_;
  std::vector<double> probabilities_;
};

}  // namespace emplace::agents::placeto

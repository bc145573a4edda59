#pragma once

// How the recurrent agents learn: REINFORCE on R = sqrt(time in seconds), a cost. For each update
// some placements are drawn and simulated; the loss is the mean of (R - b) log p over them, with p
// the probability of all choices that made a placement, of groups too. b is a moving average of the
// mean R, which begins at the first. A placement that does not fit counts as one of `failing_s`,
// and after `valid_after` updates not at all.

#include "learned/rnn_options.hpp"
#include "learned/rnn_policy.hpp"
#include "nn/optimizer.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/session.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::rnn {

/// Returns what an evaluation costs: the root of its seconds, or of `failing_s` if it does not fit.
double cost_of(const Evaluation& evaluation, double failing_s);

/// Averages costs, the last ones most.
class MovingBaseline {
 public:
  explicit MovingBaseline(double decay) : decay_(decay) {}

  /// Returns what to take off costs of this mean, and then averages it in.
  double before(double mean);

  /// Returns the average as a JSON array, empty before the first.
  std::string to_json() const;

  /// Takes what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json);

 private:
  double decay_;
  std::optional<double> average_;
};

/// Trains a policy on the problems of some sessions.
class Training {
 public:
  /// Begins with no update made. Requires: `policy` and the sessions outlive this.
  Training(const LearningOptions& options, RecurrentPolicy<float>& policy,
           std::span<Session* const> sessions);

  /// Learns until all budgets are spent or `callback` says no.
  void run(const TrainingCallback& callback);

  /// Returns all that is needed to go on, besides the policy, as a JSON object.
  std::string to_json() const;

  /// Takes what to_json() wrote, the same bits; throws kFormat if that was of other problems.
  void load(const JsonCursor& json);

 private:
  // What belongs to one problem.
  struct Course {
    Session* session;
    std::vector<Item> items;
    MovingBaseline baseline;
  };

  // Draws, simulates and learns; tells of it.
  TrainingUpdate update(Course& course);
  // Sets up as many draws as the budget allows.
  void prepare_draws(std::int64_t evaluations_left);
  // Sets the derivatives of the loss on the tape; says whether anything counts.
  bool seed(Course& course, const std::vector<Evaluation>& evaluations);
  // Returns the mean entropy of a choice.
  double entropy() const;

  LearningOptions options_;
  RecurrentPolicy<float>* policy_;
  nn::Optimizer optimizer_;
  nn::Tape<float> tape_;
  std::vector<Course> courses_;
  std::size_t next_ = 0;  // whose turn it is, modulo courses
  std::int64_t updates_ = 0;
  std::int64_t episodes_ = 0;
  std::deque<GroupedDraw> draws_;
  std::vector<Placement> placements_;
  std::vector<float> gradient_;
};

/// Sets `placements` to what was drawn, draw after draw.
void read_placements(const std::deque<GroupedDraw>& draws, const Problem& problem,
                     std::span<const Item> items, std::vector<Placement>& placements);

}  // namespace emplace::agents::rnn

#pragma once

// The training of Placeto's policy: REINFORCE with a baseline for each step and an entropy bonus,
// or PPO (Schulman et al. 2017) on the same episodes. The gradients of all decisions are summed
// (not averaged), clipped and given to the optimizer. Where the immediate reward of every action is
// known, the gradient of its expectation replaces the estimate from the sampled action (all-actions
// policy gradient: Sutton et al. 2000); only later rewards are then estimated from samples.
//
// Decisions are processed in parallel, in pieces of about a thousand rows; each piece runs the
// network forward again and then backward. The pieces depend on the problem alone, and their
// gradients are added in order, so that the bits are the same on any number of threads.

#include "nn/optimizer.hpp"
#include "placeto/network.hpp"
#include "placeto/options.hpp"
#include "placeto/rollout.hpp"
#include "policy_gradient/schedule.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::placeto {

/// Holds the episodes of one problem to learn from.
struct Experience {
  const Graph* graph;
  const Rollout* rollout;
  std::vector<double> advantages;      ///< of the sampled actions, by decision
  std::vector<float> action_values{};  ///< of all actions, by decision, to be added; may be empty
};

/// Trains a policy network.
class Learner {
 public:
  /// Trains `network`. Requires: it outlives this.
  Learner(const LearningOptions& options, Network<float>& network);
  ~Learner();

  /// Sets the share of the budget that is spent, 0 to 1, on which the schedules of the learning
  /// rate and the entropy weight depend.
  void set_progress(double progress) { progress_ = progress; }

  /// Makes one update from a round of episodes on one or several problems. Returns the norm of the
  /// gradient of the first minibatch (and epoch) before clipping.
  double update(std::span<const Experience> experiences);

  /// Returns the number of updates so far.
  std::int64_t updates() const { return updates_; }

  /// Returns the optimizer's moments and the number of updates, as a JSON object.
  std::string to_json() const;

  /// Restores what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json);

 private:
  struct Workspace;
  struct Workspaces;

  // Adds the gradients of one of `minibatches` minibatches to gradient_.
  void add_gradients(const Experience& experience, std::size_t minibatch, std::size_t minibatches,
                     std::span<double> first_log_probabilities, bool is_first);
  void add_piece(Workspace& workspace, const Experience& experience, std::size_t begin,
                 std::size_t end, std::size_t lanes, std::span<double> first_log_probabilities,
                 bool is_first, std::span<float> gradient) const;

  LearningOptions options_;
  policy_gradient::Schedule learning_rate_;
  policy_gradient::Schedule entropy_weight_;
  Network<float>* network_;
  nn::Optimizer optimizer_;
  double progress_ = 0;
  std::int64_t updates_ = 0;
  std::vector<float> gradient_;
  std::vector<std::vector<float>> piece_gradients_;
  std::unique_ptr<Workspaces> workspaces_;
};

}  // namespace emplace::agents::placeto

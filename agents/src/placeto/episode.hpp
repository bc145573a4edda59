#pragma once

// An episode of Placeto: every group is visited, its device is chosen anew, and after each action
// the step is simulated. Several workers run episodes of one problem side by side, so that one
// forward pass computes all their actions.

#include "placeto/environment.hpp"
#include "placeto/network.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/agents/move_evaluator.hpp>

#include <cstddef>
#include <deque>
#include <vector>

namespace emplace::agents::placeto {

/// Collects rollouts: runs episodes with the present policy.
class RolloutCollector {
 public:
  /// Uses the policy of `network`. Requires: it outlives this.
  explicit RolloutCollector(const PolicyNetwork<float>& network);

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

  bool play(Environment& environment, std::size_t workers, bool greedy);
  // Evaluate the placement at which a worker starts, and what its last action made of it; return
  // false if the budget ended.
  bool start(Environment& environment, std::size_t worker);
  bool move(Environment& environment, std::size_t worker, GroupId group);
  bool note(Environment& environment, std::size_t worker, const Evaluation& evaluation);
  // Keeps when groups start before a step, relative to the group that it visits.
  void keep_start_times(Environment& environment, std::size_t step);
  void act(Environment& environment, std::size_t step, bool greedy);

  const PolicyNetwork<float>* network_;
  nn::Tape<float> tape_;
  PolicyNetwork<float>::Lists lists_;
  std::vector<Placement> placements_;  // by worker
  std::deque<MoveEvaluator> moves_;    // by worker
  std::vector<Outcome> outcomes_;      // by worker, of what was evaluated last
  std::vector<Observation> observations_;
  std::vector<double> probabilities_;
};

}  // namespace emplace::agents::placeto

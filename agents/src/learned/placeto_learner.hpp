#pragma once

// How Placeto's policy follows the returns: REINFORCE with per-step baselines and a bonus for
// entropy, or PPO (Schulman et al. 2017) over the same episodes. The gradients of all decisions are
// summed (no mean), clipped and handed to the optimizer.
//
// Decisions are taken in pieces of about a thousand rows, in parallel; each piece runs the network
// again and then backward. Pieces depend on the problem alone and their gradients are added in
// order, so that the bits are the same on any number of threads.

#include "learned/placeto_episode.hpp"
#include "learned/placeto_network.hpp"
#include "learned/placeto_options.hpp"
#include "nn/optimizer.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace emplace::agents::placeto {

/// Holds episodes to learn from.
struct Experience {
  const Graph* graph;
  const Rollout* rollout;
  std::vector<double> advantages;  ///< of each decision
};

/// Changes the parameters of a network.
class Learner {
 public:
  /// Learns for `network`. Requires: it outlives this.
  Learner(const LearningOptions& options, Network<float>& network);
  ~Learner();

  /// Sets what share of all updates is done, 0 to 1: learning rate and entropy fall with it.
  void set_progress(double progress) { progress_ = progress; }

  /// Learns from one round of episodes on one or several problems.
  void update(std::span<const Experience> experiences);

 private:
  struct Workspace;
  struct Workspaces;

  // Adds the gradients of all decisions to gradient_.
  void add_gradients(const Experience& experience, std::span<double> first_log_probabilities,
                     bool is_first);
  void add_piece(Workspace& workspace, const Experience& experience, std::size_t begin,
                 std::size_t end, std::size_t lanes, std::span<double> first_log_probabilities,
                 bool is_first, std::span<float> gradient) const;
  double entropy_weight() const;

  LearningOptions options_;
  Network<float>* network_;
  nn::Optimizer optimizer_;
  double progress_ = 0;
  std::int64_t updates_ = 0;
  std::vector<float> gradient_;
  std::vector<std::vector<float>> piece_gradients_;
  std::unique_ptr<Workspaces> workspaces_;
};

}  // namespace emplace::agents::placeto

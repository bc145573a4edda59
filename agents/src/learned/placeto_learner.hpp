#pragma once

// How Placeto's policy follows the returns: REINFORCE with per-step baselines and a bonus for
// entropy, or PPO (Schulman et al. 2017) over the same episodes. The gradients of all decisions are
// summed (no mean), clipped and handed to the optimizer. Where it is known what each device gains
// at once, the policy follows the derivative of the mean gain instead of that of a draw (all-action
// gradients: Sutton et al. 2000), and of draws only in what they gain later.
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
#include <string>
#include <vector>

namespace emplace::agents::placeto {

/// Holds episodes to learn from.
struct Experience {
  const Graph* graph;
  const Rollout* rollout;
  std::vector<double> advantages;  ///< of each decision
  std::vector<float> gains{};      ///< of each decision and device, beside that; may be empty
};

/// Changes the parameters of a network.
class Learner {
 public:
  /// Learns for `network`. Requires: it outlives this.
  Learner(const LearningOptions& options, Network<float>& network);
  ~Learner();

  /// Sets what share of all updates is done, 0 to 1: learning rate and entropy fall with it.
  void set_progress(double progress) { progress_ = progress; }

  /// Learns from one round of episodes on one or several problems; returns the norm of the gradient
  /// (PPO: of the first epoch's) before it was clipped.
  double update(std::span<const Experience> experiences);

  /// Returns the number of updates so far.
  std::int64_t updates() const { return updates_; }

  /// Returns the optimizer's moments and the number of updates, as a JSON object.
  std::string to_json() const;

  /// Takes what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json);

 private:
  struct Workspace;
  struct Workspaces;

  // Adds the gradients of one of the `batches` into which decisions are cut to gradient_.
  void add_gradients(const Experience& experience, std::size_t batch, std::size_t batches,
                     std::span<double> first_log_probabilities, bool is_first);
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

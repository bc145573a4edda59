#pragma once

// The training of Placeto's policy: REINFORCE (Williams 1992) with a baseline for each step and an
// entropy bonus. The gradients of all decisions are summed (not averaged), clipped and given to the
// optimizer.
//
// Decisions are processed in parallel, in pieces of about a thousand rows; each piece runs the
// network forward again and then backward. The pieces depend on the problem alone, and their
// gradients are added in order, so that the bits are the same on any number of threads.

#include "placeto/network.hpp"
#include "placeto/options.hpp"
#include "placeto/rollout.hpp"
#include "policy_gradient/policy_optimizer.hpp"

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
  std::vector<double> advantages;  ///< of the sampled actions, by decision
};

/// Trains a policy network.
class Learner {
 public:
  /// Begins a training of `network` with the budgets of `evaluators`. Requires: both outlive this.
  Learner(const Options& options, PolicyNetwork<float>& network,
          std::span<Evaluator* const> evaluators);
  ~Learner();

  /// Begins an update, whose learning rate and entropy weight are those of the budget that is spent
  /// by now.
  void begin_update() { optimizer_.begin_update(); }

  /// Makes the update from a round of episodes on one or several problems. Returns the norm of the
  /// gradient before clipping.
  double update(std::span<const Experience> experiences);

  /// Returns the number of updates so far.
  std::int64_t updates() const { return optimizer_.updates(); }

  /// Returns the state of the optimizer as a JSON object.
  std::string to_json() const { return optimizer_.to_json(); }

  /// Restores what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json) { optimizer_.load(json); }

 private:
  struct Workspace;
  struct Workspaces;

  struct Piece;

  // Appends the pieces of an experience.
  void append_pieces(const Experience& experience, std::vector<Piece>& pieces) const;
  // Adds their gradients to gradient_.
  void add_gradients(std::span<const Piece> pieces);
  void add_piece(Workspace& workspace, const Piece& piece, std::span<float> gradient) const;

  PolicyNetwork<float>* network_;
  policy_gradient::PolicyOptimizer optimizer_;
  std::vector<float> gradient_;
  std::vector<std::vector<float>> piece_gradients_;
  std::unique_ptr<Workspaces> workspaces_;
};

}  // namespace emplace::agents::placeto

#pragma once

// The training of Placeto: rounds of episodes on the problems in turn, each followed by an update
// of the policy; now and then a round of greedy episodes without one.

#include "placeto/environment.hpp"
#include "placeto/learner.hpp"
#include "placeto/options.hpp"
#include "placeto/policy.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::placeto {

/// Trains a policy on the problems of some evaluators.
class PlacetoTrainer final : public policy_gradient::Trainer {
 public:
  /// Begins a training. Requires: `policy` and the evaluators outlive this.
  PlacetoTrainer(const Options& options, PlacetoPolicy& policy,
                 std::span<Evaluator* const> evaluators);

  void run(const TrainingCallback& callback) override;
  std::string to_json() const override;
  void load(const JsonCursor& json) override;

 private:
  // The episodes of one problem in a round.
  struct EpisodeBatch {
    std::size_t problem = 0;
    std::size_t workers = 0;
    bool is_complete = false;  // the budget sufficed
  };

  std::vector<EpisodeBatch> next_episodes();
  void run_episodes(std::span<EpisodeBatch> batches, bool greedy);
  // Makes an update; returns false where the callback stops the training.
  bool learn(std::span<const EpisodeBatch> batches, const TrainingCallback& callback);

  Options options_;
  PlacetoPolicy* policy_;
  Learner learner_;
  std::vector<Environment> environments_;  // one for each evaluator
  std::int64_t round_ = 0;                 // number of the next one
  std::size_t next_ = 0;                   // environment of the next episode, modulo their number
  std::int64_t episodes_ = 0;              // completed
};

}  // namespace emplace::agents::placeto

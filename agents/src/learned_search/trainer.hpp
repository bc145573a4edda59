#pragma once

// The training of the network of move values on the problems of some evaluators.
//
// A round plays an episode (move_episode.hpp) on each of the next `workers` problems, all with the
// same network. Problems come in a random order, one after the other and again from the beginning.
// An episode begins at a placement of a heuristic or at the best of the problem so far, drawn at
// random. Then the network is fitted to what was tried (value_learner.hpp), in several passes over
// the moves of the round in random order, in minibatches. The learning rate falls linearly with the
// budget.
//
// Transitions of a minibatch are differentiated in parallel and their gradients are added in order,
// so that the bits are the same on any number of threads.

#include "learned_search/move_episode.hpp"
#include "learned_search/value_learner.hpp"
#include "learned_search/value_network.hpp"
#include "policy_gradient/policy_agent.hpp"
#include "policy_gradient/schedule.hpp"

#include <emplace/base/random.hpp>

#include <tbb/enumerable_thread_specific.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::learned_search {

/// Says how values are learned.
struct LearningOptions {
  std::int64_t episode_length = 256;  ///< evaluations, those of starts among them
  std::size_t workers = 8;            ///< episodes of a round
  std::size_t passes = 4;             ///< over the moves of a round
  double learning_rate = 0.003;
  double learning_rate_end = 0.0001;
};

/// The options of the agent.
struct Options {
  ValueNetworkOptions network{};
  MoveOptions moves{};
  LearningOptions learning{};
  /// Begins with the parameters that come with emplace. Requires: the network has kShippedRounds.
  bool pretrained = true;
};

/// Rounds of message passing in the policy that comes with emplace.
inline constexpr int kShippedRounds = 2;

/// Trains a network of move values.
class SearchTrainer final : public policy_gradient::Trainer {
 public:
  /// Begins a training. Requires: `network` and the evaluators outlive this.
  SearchTrainer(const Options& options, ValueNetwork<float>& network,
                std::span<Evaluator* const> evaluators);

  void run(const TrainingCallback& callback) override;
  std::string to_json() const override;
  void load(const JsonCursor& json) override;

 private:
  // What was tried in an episode.
  struct Episode {
    std::size_t problem = 0;
    std::vector<Transitions> transitions{};
    double last_us = 0;
  };

  std::vector<Episode> play();
  const Placement& draw_start(std::size_t problem);
  double fit(std::span<const Episode> episodes);
  void add_gradient(const GroupNeighbours& neighbours, const Transitions& transitions,
                    std::size_t count, std::span<float> gradient);

  LearningOptions options_;
  MoveOptions moves_;  // of episodes, which do not learn by themselves
  ValueNetwork<float>* network_;
  std::vector<Evaluator*> evaluators_;
  std::deque<MoveContext> contexts_;            // by problem
  std::vector<std::vector<Placement>> starts_;  // by problem, made by its first episode
  policy_gradient::BudgetProgress progress_;
  policy_gradient::Schedule learning_rate_;
  ValueLearner learner_;
  tbb::enumerable_thread_specific<nn::Tape<float>> tapes_;
  std::vector<std::size_t> order_;  // of the problems
  std::size_t next_ = 0;            // of them
  std::int64_t updates_ = 0;        // rounds
  std::int64_t episodes_ = 0;
};

}  // namespace emplace::agents::learned_search

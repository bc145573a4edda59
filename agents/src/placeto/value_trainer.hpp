#pragma once

// The training of Placeto's network of move values on the problems of some sessions.
//
// A round plays an episode (move_episode.hpp) on each of the next `workers` problems, all with the
// same network. Problems come in a random order, one after the other and again from the beginning.
// An episode begins at a placement of a heuristic or at the best of the problem so far, drawn at
// random. Then the network is fitted to what was tried: several passes over the trials of the round
// in random order, in minibatches, minimize the squared error of the values (its gradient clipped;
// Huber 1964) by Adam. The learning rate falls linearly with the budget.
//
// Trials of a minibatch are differentiated in parallel and their gradients are added in order, so
// that the bits are the same on any number of threads.

#include "nn/optimizer.hpp"
#include "placeto/move_episode.hpp"
#include "placeto/value_network.hpp"
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

namespace emplace::agents::placeto {

/// Says how values are learned.
struct ValueLearningOptions {
  MoveOptions moves{};
  std::int64_t episode_length = 256;  ///< evaluations, those of starts among them
  std::size_t workers = 8;            ///< episodes of a round
  std::size_t passes = 4;             ///< over the trials of a round
  double learning_rate = 0.003;
  double learning_rate_end = 0.0001;
};

/// Trains a network of move values.
class ValueTrainer final : public policy_gradient::Trainer {
 public:
  /// Begins a training. Requires: `network` and the sessions outlive this.
  ValueTrainer(const ValueLearningOptions& options, ValueNetwork<float>& network,
               std::span<Session* const> sessions);

  void run(const TrainingCallback& callback) override;
  std::string to_json() const override;
  void load(const JsonCursor& json) override;

 private:
  // What was tried in an episode.
  struct Episode {
    std::size_t problem = 0;
    std::vector<Trials> trials{};
    double last_us = 0;
  };

  std::vector<Episode> play();
  const Placement& draw_start(std::size_t problem);
  double fit(std::span<const Episode> episodes);
  void add_gradient(const Neighbourhoods& neighbourhoods, const Trials& trials, float weight,
                    std::span<float> gradient);

  ValueLearningOptions options_;
  ValueNetwork<float>* network_;
  std::vector<Session*> sessions_;
  std::deque<Neighbourhoods> neighbourhoods_;   // by problem
  std::vector<std::vector<Placement>> starts_;  // by problem, made by its first episode
  policy_gradient::BudgetProgress progress_;
  policy_gradient::Schedule learning_rate_;
  nn::Optimizer optimizer_;
  tbb::enumerable_thread_specific<nn::Tape<float>> tapes_;
  std::vector<std::size_t> order_;  // of the problems
  std::size_t next_ = 0;            // of them
  std::int64_t updates_ = 0;        // rounds
  std::int64_t episodes_ = 0;
};

}  // namespace emplace::agents::placeto

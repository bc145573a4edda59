#pragma once

// How a value network learns: it minimizes the squared error of the values of moves, whose gradient
// is clipped (Huber 1964), by Adam.

#include "learned_search/value_network.hpp"
#include "nn/optimizer.hpp"
#include "nn/tape.hpp"

#include <span>

namespace emplace::agents::learned_search {

/// Fits the values of a network to what moves gained.
class ValueLearner {
 public:
  /// Begins with a new optimizer. Requires: `network` outlives this.
  explicit ValueLearner(ValueNetwork<float>& network);

  /// Adds to `gradient` what these moves contribute to the gradient of the mean error of a
  /// minibatch. `values` is a column on the tape, with one label each in `labels`; `count` is the
  /// number of moves in the whole minibatch.
  static void add_gradient(nn::Tape<float>& tape, nn::Value values, std::span<const float> labels,
                           std::size_t count, std::span<float> gradient);

  /// Makes a step of gradient descent. Returns the norm of the gradient before clipping.
  double step(std::span<float> gradient, double learning_rate);

  /// Returns the optimizer, whose state checkpoints hold.
  nn::Optimizer& optimizer() { return optimizer_; }
  const nn::Optimizer& optimizer() const { return optimizer_; }

 private:
  ValueNetwork<float>* network_;
  nn::Optimizer optimizer_;
};

}  // namespace emplace::agents::learned_search

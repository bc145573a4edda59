#pragma once

// Steps along a gradient: plain SGD, RMSprop (Tieleman, Hinton 2012) and Adam (Kingma, Ba 2015),
// with the constants of TensorFlow 1, in which the papers' agents were written.

#include <emplace/graphs/json_cursor.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::agents::nn {

/// Says how a step is made of a gradient.
enum class OptimizerKind : std::uint8_t { kAdam, kRmsprop, kSgd };

/// Returns the names "adam", "rmsprop", "sgd", in the order of OptimizerKind.
const std::vector<std::string>& optimizer_names();

/// Returns the kind called `name`. Requires: it is one of optimizer_names().
OptimizerKind find_optimizer_kind(std::string_view name);

/// Keeps the moments of one set of parameters.
class Optimizer {
 public:
  /// Starts with no steps made.
  Optimizer(OptimizerKind kind, std::size_t num_parameters);

  /// Moves `parameters` against `gradient` at `rate`.
  void step(std::span<float> parameters, std::span<const float> gradient, double rate);

  /// Returns the moments and what the steps made of Adam's corrections, as a JSON object.
  std::string to_json() const;

  /// Takes what to_json() wrote, the same bits; throws kFormat unless it is of an optimizer like
  /// this one.
  void load(const JsonCursor& json);

 private:
  OptimizerKind kind_;
  std::vector<float> mean_;    // of gradients
  std::vector<float> square_;  // of their squares
  double mean_power_ = 1;      // Adam's decays to the power of the steps made
  double square_power_ = 1;
};

/// Scales `gradient` down to the Euclidean norm `most` if it is longer; returns what its norm was.
double clip_norm(std::span<float> gradient, double most);

}  // namespace emplace::agents::nn

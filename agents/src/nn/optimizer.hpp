#pragma once

// Gradient descent by Adam (Kingma, Ba 2015), with the constants of TensorFlow 1, in which the
// papers' agents were written.

#include <emplace/base/json_cursor.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::nn {

/// Updates one set of parameters and keeps its moments.
class Optimizer {
 public:
  /// Starts with no steps made.
  explicit Optimizer(std::size_t num_parameters) : mean_(num_parameters), square_(num_parameters) {}

  /// Makes one step against `gradient`.
  void step(std::span<float> parameters, std::span<const float> gradient, double learning_rate);

  /// Scales `gradient` down to the Euclidean norm `max_norm` if it is longer, and makes a step
  /// against it unless it has a number that is not finite. Returns the norm before.
  double clipped_step(std::span<float> parameters, std::span<float> gradient, double learning_rate,
                      double max_norm);

  /// Returns the moments and the powers of the bias correction, as a JSON object.
  std::string to_json() const;

  /// Restores what to_json() wrote, the same bits; throws kFormat unless it is of an optimizer of
  /// this size.
  void load(const JsonCursor& json);

 private:
  std::vector<float> mean_;    // of gradients
  std::vector<float> square_;  // of their squares
  double mean_power_ = 1;      // the decay rates to the power of the number of steps
  double square_power_ = 1;
};

/// Scales `gradient` down to the Euclidean norm `max_norm` if it is longer; returns the norm
/// before.
double clip_norm(std::span<float> gradient, double max_norm);

}  // namespace emplace::agents::nn

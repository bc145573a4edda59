#pragma once

// Gradient checks: a small network with the tested operation ends in a weighted sum of its outputs;
// its gradient, in double, is compared with central differences for each parameter.

#include "agents/src/nn/tape.hpp"

#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace emplace::agents::nn {

/// Is precise enough for differences.
using DoubleTape = Tape<double>;
/// Computes something on a tape.
using Network = std::function<Value(DoubleTape&)>;

/// Returns weights of the sum by row and column; none is like another.
inline double weight(std::size_t row, std::size_t column) {
  return std::sin(static_cast<double>(1 + 3 * row + 7 * column));
}

/// Returns that sum.
inline double weighted_sum(const MatrixView<double>& y) {
  double sum = 0;
  for (std::size_t row = 0; row < y.rows; ++row) {
    for (std::size_t column = 0; column < y.columns; ++column) {
      sum += weight(row, column) * y(row, column);
    }
  }
  return sum;
}

/// Compares the gradient of the weighted sum of what `network` computes with central differences.
inline void expect_gradient_like_differences(Parameters<double>& parameters,
                                             const Network& network) {
  DoubleTape tape(parameters);
  const Value y = network(tape);
  const MatrixView<double> seed = tape.seed(y);
  for (std::size_t row = 0; row < seed.rows; ++row) {
    for (std::size_t column = 0; column < seed.columns; ++column) {
      seed(row, column) = weight(row, column);
    }
  }
  std::vector<double> gradient(parameters.values().size());
  tape.backward(gradient);

  constexpr double kStep = 1e-5;
  double largest = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double before = parameters.values()[i];
    std::array<double, 2> sums{};
    for (const std::size_t side : {0U, 1U}) {
      parameters.values()[i] = before + (side == 0 ? -kStep : kStep);
      tape.clear();
      sums[side] = weighted_sum(tape.value(network(tape)));
    }
    parameters.values()[i] = before;
    const double difference = (sums[1] - sums[0]) / (2 * kStep);
    EXPECT_NEAR(gradient[i], difference, 1e-7 * (1 + std::abs(difference))) << "parameter " << i;
    largest = std::max(largest, std::abs(difference));
  }
  EXPECT_GT(largest, 1e-3);  // there was something to compare
}

/// Returns tanh(x), a smooth function.
inline Value tanh_of(DoubleTape& tape, Value x) { return tape.tanh_clip(x, 1, 1); }

/// Draws all parameters, biases too, so that no ReLU is dead throughout.
inline void randomize(Parameters<double>& parameters) {
  RandomStream random(17);
  for (double& value : parameters.values()) {
    value = random.uniform() - 0.4;
  }
}

/// Returns an input of random numbers, which depend on its shape only.
inline Value random_input(DoubleTape& tape, std::size_t rows, std::size_t columns,
                          Layout layout = Layout::kPanels) {
  const Value x = tape.input(rows, columns, layout);
  RandomStream random(rows * 100 + columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      tape.value(x)(row, column) = random.uniform() - 0.5;
    }
  }
  return x;
}

}  // namespace emplace::agents::nn

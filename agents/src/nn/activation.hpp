#pragma once

// Activation functions, applied to each number of a matrix.

#include "matrix.hpp"

#include <cstdint>

namespace emplace::agents::nn {

/// Names an activation function.
enum class Activation : std::uint8_t { kNone, kRelu, kTanh, kSigmoid };

/// Replaces each number x of `matrix` by activation(x).
template <class Scalar>
void apply(Activation activation, const MatrixView<Scalar>& matrix);

/// Replaces the derivatives with respect to `y` = activation(x) by those with respect to x.
template <class Scalar>
void differentiate(Activation activation, const MatrixView<Scalar>& y, Scalar* gradient);

}  // namespace emplace::agents::nn

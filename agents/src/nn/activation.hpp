#pragma once

// Functions that are applied to each number of a matrix.

#include "matrix.hpp"

#include <cstdint>

namespace emplace::agents::nn {

/// Says what is applied to each number.
enum class Activation : std::uint8_t { kNone, kRelu, kTanh, kSigmoid };

/// Replaces each number x of `matrix` by activation(x).
template <class Scalar>
void apply(Activation activation, const MatrixView<Scalar>& matrix);

/// Turns the derivatives by `y` = activation(x) into those by x.
template <class Scalar>
void differentiate(Activation activation, const MatrixView<Scalar>& y, Scalar* gradient);

}  // namespace emplace::agents::nn

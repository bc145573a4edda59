#pragma once

// Matrices in panels as Eigen sees them, for what is done to each number by itself. Sums are not
// left to Eigen, whose order depends on the width of vectors; nor are square roots, which it may
// replace by estimates that differ between makes of processors.

#include "matrix.hpp"

#include <Eigen/Core>

namespace emplace::agents::nn {

/// Views numbers in a row.
template <class Scalar>
using Numbers = Eigen::Map<Eigen::Array<Scalar, Eigen::Dynamic, 1>>;

/// Returns the numbers at `data` of a matrix like `matrix`, with the rows that fill up the last
/// panel.
template <class Scalar>
Numbers<Scalar> numbers(const MatrixView<Scalar>& matrix, Scalar* data) {
  return {data, static_cast<Eigen::Index>(matrix.size())};
}

/// Returns the numbers of `matrix`, with the rows that fill up the last panel.
template <class Scalar>
Numbers<Scalar> numbers(const MatrixView<Scalar>& matrix) {
  return numbers(matrix, matrix.data);
}

}  // namespace emplace::agents::nn

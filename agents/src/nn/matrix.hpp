#pragma once

// The memory layout of the networks' matrices: panels of 16 rows. Within a panel each column is 16
// consecutive numbers, and the columns follow one another. A layer reads and writes whole panels,
// so its loops run over 16 rows at a time with any vector width and have no remainder: padding
// rows, which are never read, fill the last panel.

#include <cstddef>

namespace emplace::agents::nn {

/// Counts the rows of a panel.
inline constexpr std::size_t kLanes = 16;

/// Views a matrix of `rows` x `columns` in panels.
template <class Scalar>
struct MatrixView {
  Scalar* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;

  /// Returns the number of panels.
  std::size_t panels() const { return (rows + kLanes - 1) / kLanes; }

  /// Returns how many numbers are stored, with the padding rows of the last panel.
  std::size_t size() const { return panels() * kLanes * columns; }

  /// Returns the address of column 0 of `row`; column c is c * kLanes further.
  Scalar* row(std::size_t row) const {
    return data + row / kLanes * kLanes * columns + row % kLanes;
  }

  Scalar& operator()(std::size_t row, std::size_t column) const {
    return this->row(row)[column * kLanes];
  }
};

}  // namespace emplace::agents::nn

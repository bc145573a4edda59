#pragma once

// How the networks of agents keep their matrices. Rows stand in panels of 16: within a panel each
// column is 16 numbers in a row, and a panel's columns follow one another. A layer reads and writes
// whole panels, so its loops run over 16 rows at a time with any vector width and never end in a
// remainder: the last panel is filled up with rows that nobody reads.

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

  /// Returns the numbers held, those of the rows that fill the last panel included.
  std::size_t size() const { return panels() * kLanes * columns; }

  /// Returns where `row` has its column 0; column c is c * kLanes further.
  Scalar* row(std::size_t row) const {
    return data + row / kLanes * kLanes * columns + row % kLanes;
  }

  Scalar& operator()(std::size_t row, std::size_t column) const {
    return this->row(row)[column * kLanes];
  }
};

}  // namespace emplace::agents::nn

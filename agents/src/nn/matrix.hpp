#pragma once

// The memory layouts of the networks' matrices.
//
// Panels of 16 rows: within a panel each column is 16 consecutive numbers, and the columns follow
// one another. A layer reads and writes whole panels, so its loops run over 16 rows at a time with
// any vector width and have no remainder: padding rows, which are never read, fill the last panel.
//
// Rows: one row after the other, for matrices of few rows, such as the state of a recurrent
// network. In panels most of their numbers would be padding.
//
// Columns: one panel of all rows, for what is read column by column.

#include <cstddef>
#include <cstdint>

namespace emplace::agents::nn {

/// Counts the rows of a panel.
inline constexpr std::size_t kLanes = 16;

/// Names a memory layout.
enum class Layout : std::uint8_t { kPanels, kRows, kColumns };

/// Views a matrix of `rows` x `columns`.
template <class Scalar>
struct MatrixView {
  Scalar* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  Layout layout = Layout::kPanels;

  /// Returns how far apart the numbers of a row are: the rows of a panel, with padding.
  std::size_t lanes() const {
    return layout == Layout::kPanels ? kLanes
           : layout == Layout::kRows ? 1
                                     : (rows + kLanes - 1) / kLanes * kLanes;
  }

  /// Returns the number of panels; a layout of rows has panels of one row.
  std::size_t panels() const {
    return layout == Layout::kPanels ? (rows + kLanes - 1) / kLanes
           : layout == Layout::kRows ? rows
                                     : 1;
  }

  /// Returns how many numbers are stored, with the padding rows of the last panel.
  std::size_t size() const { return panels() * lanes() * columns; }

  /// Returns the address of column 0 of `row`; column c is c * lanes() further.
  Scalar* row(std::size_t row) const {
    return layout == Layout::kPanels ? data + row / kLanes * kLanes * columns + row % kLanes
           : layout == Layout::kRows ? data + row * columns
                                     : data + row;
  }

  Scalar& operator()(std::size_t row, std::size_t column) const {
    return this->row(row)[column * lanes()];
  }
};

}  // namespace emplace::agents::nn

#pragma once

// A sparse matrix of zeros and ones in rows (CSR), which says what is summed where: the messages of
// a node's neighbours, the members of a set, or, with one entry for each row, rows in another
// order.

#include "matrix.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::nn {

/// Says how the rows of a set become one.
enum class Combine : std::uint8_t { kSum, kMean };

/// Says for each row of a result which rows of one or several sources it is the sum of.
struct RowSums {
  /// Names row `row` of source `source`.
  struct Entry {
    std::int32_t source;
    std::int32_t row;
  };

  std::vector<std::int32_t> begin = {0};  ///< row r has entries [begin[r], begin[r + 1])
  std::vector<Entry> entries{};

  std::size_t rows() const { return begin.size() - 1; }

  std::span<const Entry> of_row(std::size_t row) const {
    const auto first = static_cast<std::size_t>(begin[row]);
    return {entries.data() + first, static_cast<std::size_t>(begin[row + 1]) - first};
  }

  /// Adds an entry to the row that is being written.
  void add(std::int32_t source, std::int32_t row) { entries.push_back({source, row}); }

  /// Ends the row that is being written.
  void end_row() { begin.push_back(static_cast<std::int32_t>(entries.size())); }

  /// Forgets all rows, and keeps the memory.
  void clear() {
    begin.assign(1, 0);
    entries.clear();
  }
};

/// Sets each row of `out` to the sum or mean of rows of `sources`, 0 if there are none. With
/// `lanes` = 2, 4, 8 or 16 each row of `sums` stands for as many rows one after the other.
template <class Scalar>
void sum_rows(const RowSums& sums, std::size_t lanes, Combine combine,
              std::span<const MatrixView<Scalar>> sources, const MatrixView<Scalar>& out);

/// Adds to the rows of `sources` what each hands on of the derivatives of `out`. Sources without
/// data are left out.
template <class Scalar>
void add_sum_gradients(const RowSums& sums, std::size_t lanes, Combine combine,
                       const MatrixView<Scalar>& out, std::span<const MatrixView<Scalar>> sources);

}  // namespace emplace::agents::nn

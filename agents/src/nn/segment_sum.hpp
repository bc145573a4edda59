#pragma once

// Segment sums: each row of a result is the sum of some rows of one or several sources. They sum
// the messages of a node's neighbours or the members of a set; with one entry for each row they
// gather rows in another order. The rows to sum are a sparse matrix of zeros and ones (CSR).

#include "kernels.hpp"
#include "matrix.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::nn {

/// Says how the rows of a segment become one.
enum class Combine : std::uint8_t { kSum, kMean };

/// Lists, for each row of a result, the rows of the sources to sum.
struct SegmentSum {
  using Entry = SegmentEntry;

  std::vector<std::int32_t> begin = {0};  ///< row r has entries [begin[r], begin[r + 1])
  std::vector<Entry> entries{};

  std::size_t rows() const { return begin.size() - 1; }

  std::span<const Entry> of_row(std::size_t row) const {
    const auto first = static_cast<std::size_t>(begin[row]);
    return {entries.data() + first, static_cast<std::size_t>(begin[row + 1]) - first};
  }

  /// Adds an entry to the last row, which is not ended yet.
  void add(std::int32_t source, std::int32_t row) { entries.push_back({source, row}); }

  /// Ends the last row.
  void end_row() { begin.push_back(static_cast<std::int32_t>(entries.size())); }

  /// Removes all rows and keeps the memory.
  void clear() {
    begin.assign(1, 0);
    entries.clear();
  }
};

/// Returns what the kernels read of `sums`, which must outlive it.
SegmentArguments arguments_of(const SegmentSum& sums, std::size_t lanes, Combine combine);

/// Sets each row of `out` to the sum or mean of its rows of `sources`, 0 if there are none. With
/// `lanes` = 2, 4, 8 or 16 each row index means that many consecutive rows.
template <class Scalar>
void segment_sum(const SegmentSum& sums, std::size_t lanes, Combine combine,
                 std::span<const MatrixView<Scalar>> sources, const MatrixView<Scalar>& out);

/// Adds the derivatives with respect to `out` to those with respect to `sources`. Sources without
/// data are skipped.
template <class Scalar>
void add_segment_sum_gradients(const SegmentSum& sums, std::size_t lanes, Combine combine,
                               const MatrixView<Scalar>& out,
                               std::span<const MatrixView<Scalar>> sources);

}  // namespace emplace::agents::nn

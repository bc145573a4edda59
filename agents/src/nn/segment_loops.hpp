#pragma once

// The loops of segment sums over matrices in panels (kernels.hpp) for vectors of `kBytes` bytes;
// see kernel_loops.hpp for what may be included here.

#include "kernels.hpp"
#include "matrix.hpp"

#include <cstddef>

namespace emplace::agents::nn {
namespace {

// The same column of `kRows` rows of a panel, which are next to each other.
template <std::size_t kRows, class Scalar>
struct VectorOfRows {
  using Type [[gnu::vector_size(kRows * sizeof(Scalar)), gnu::may_alias]] = Scalar;
};

template <class Scalar>
struct VectorOfRows<1, Scalar> {
  using Type = Scalar;
};

template <class Scalar, std::size_t kBytes>
struct SegmentLoops {
  static void sum(const SegmentArguments& segments, const MatrixView<Scalar>* sources,
                  const MatrixView<Scalar>& out) {
    with_rows(segments, [&]<std::size_t kRows>(std::size_t row, Segment segment) {
      RowSums<kRows>::sum(segment, sources, out, row);
    });
  }

  static void add_gradients(const SegmentArguments& segments, const MatrixView<Scalar>& out,
                            const MatrixView<Scalar>* sources) {
    with_rows(segments, [&]<std::size_t kRows>(std::size_t row, Segment segment) {
      RowSums<kRows>::add_gradients(segment, out, row, sources);
    });
  }

 private:
  // The entries of a row, and by what their sum is multiplied.
  struct Segment {
    const SegmentEntry* begin;
    const SegmentEntry* end;
    Scalar factor;
  };

  // kRows rows at a time.
  template <std::size_t kRows>
  struct RowSums {
    using Vector = typename VectorOfRows<kRows, Scalar>::Type;
    // Columns whose sums are in registers at a time: in three quarters of 16 registers.
    static constexpr std::size_t kFitting = 12 * kBytes / sizeof(Vector);
    static constexpr std::size_t kMostColumns = kFitting < 12 ? kFitting : 12;
    static constexpr std::size_t kStride = kLanes / kRows;  // in vectors, from a column to the next

    // Calls operation.template operator()<kColumns>(column) for pieces of the columns.
    template <std::size_t kColumns = kMostColumns, class Operation>
    [[gnu::always_inline]] static void for_columns(std::size_t column, std::size_t end,
                                                   const Operation& operation) {
      for (; column + kColumns <= end; column += kColumns) {
        operation.template operator()<kColumns>(column);
      }
      if constexpr (kColumns > 1) {
        for_columns<kColumns - 1>(column, end, operation);
      }
    }

    // Returns `column` of the kRows rows from rows * kRows on.
    static Vector* find(const MatrixView<Scalar>& matrix, std::size_t rows, std::size_t column) {
      const std::size_t row = rows * kRows;
      return reinterpret_cast<Vector*>(matrix.data + row / kLanes * kLanes * matrix.columns +
                                       row % kLanes + column * kLanes);
    }
    static Vector* find(const MatrixView<Scalar>* sources, SegmentEntry entry, std::size_t column) {
      return find(sources[entry.source], static_cast<std::size_t>(entry.row), column);
    }

    static void sum(Segment segment, const MatrixView<Scalar>* sources,
                    const MatrixView<Scalar>& out, std::size_t row) {
      for_columns(0, out.columns, [&]<std::size_t kColumns>(std::size_t column) {
        Vector sums[kColumns] = {};
        for (const SegmentEntry* entry = segment.begin; entry != segment.end; ++entry) {
          const Vector* const from = find(sources, *entry, column);
#pragma GCC unroll 12
          for (std::size_t i = 0; i < kColumns; ++i) {
            sums[i] += from[i * kStride] * segment.factor;
          }
        }
        Vector* const to = find(out, row, column);
#pragma GCC unroll 12
        for (std::size_t i = 0; i < kColumns; ++i) {
          to[i * kStride] = sums[i];
        }
      });
    }

    static void add_gradients(Segment segment, const MatrixView<Scalar>& out, std::size_t row,
                              const MatrixView<Scalar>* sources) {
      for_columns(0, out.columns, [&]<std::size_t kColumns>(std::size_t column) {
        const Vector* const from = find(out, row, column);
        Vector added[kColumns];
#pragma GCC unroll 12
        for (std::size_t i = 0; i < kColumns; ++i) {
          added[i] = from[i * kStride] * segment.factor;
        }
        for (const SegmentEntry* entry = segment.begin; entry != segment.end; ++entry) {
          if (sources[entry->source].data != nullptr) {
            Vector* const to = find(sources, *entry, column);
#pragma GCC unroll 12
            for (std::size_t i = 0; i < kColumns; ++i) {
              to[i * kStride] += added[i];
            }
          }
        }
      });
    }
  };

  // Calls visit.template operator()<kRows>(row, segment) for each row of the result.
  template <class Visit>
  static void with_rows(const SegmentArguments& segments, const Visit& visit) {
    switch (segments.lanes) {
      case 1:
        return for_rows<1>(segments, visit);
      case 2:
        return for_rows<2>(segments, visit);
      case 4:
        return for_rows<4>(segments, visit);
      case 8:
        return for_rows<8>(segments, visit);
      default:
        return for_rows<16>(segments, visit);
    }
  }

  template <std::size_t kRows, class Visit>
  static void for_rows(const SegmentArguments& segments, const Visit& visit) {
    for (std::size_t row = 0; row < segments.rows; ++row) {
      const SegmentEntry* const begin = segments.entries + segments.begin[row];
      const SegmentEntry* const end = segments.entries + segments.begin[row + 1];
      const bool divides = segments.is_mean && begin != end;
      visit.template operator()<kRows>(
          row, {begin, end, divides ? Scalar{1} / static_cast<Scalar>(end - begin) : Scalar{1}});
    }
  }
};

}  // namespace
}  // namespace emplace::agents::nn

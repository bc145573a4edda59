#include "segment_sum.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <vector>

namespace emplace::agents::nn {
namespace {

template <class Scalar>
Scalar factor_of(Combine combine, std::size_t count) {
  return combine == Combine::kMean && count > 0 ? Scalar{1} / static_cast<Scalar>(count)
                                                : Scalar{1};
}

// Sums of single rows read and write all columns of a row, which are far apart in panels. Where
// there are enough of them they are made on copies that hold one row after the other.
template <class Scalar>
class Rows {
 public:
  explicit Rows(const MatrixView<Scalar>& matrix)
      : matrix_(matrix),
        numbers_(matrix.data == nullptr || matrix.layout == Layout::kRows
                     ? 0
                     : matrix.rows * matrix.columns) {
    for_all([](Scalar& number, Scalar& in_panel) { number = in_panel; });
  }

  Scalar* row(std::size_t row) {
    return (numbers_.empty() ? matrix_.data : numbers_.data()) + row * matrix_.columns;
  }
  void copy_back() {
    for_all([](Scalar& number, Scalar& in_panel) { in_panel = number; });
  }

 private:
  template <class Visit>
  void for_all(Visit visit) {
    if (numbers_.empty()) {
      return;
    }
    for (std::size_t begin = 0; begin < matrix_.rows; begin += kLanes) {
      const std::size_t rows = std::min(kLanes, matrix_.rows - begin);
      Scalar* const panel = matrix_.row(begin);
      for (std::size_t column = 0; column < matrix_.columns; ++column) {
        for (std::size_t row = 0; row < rows; ++row) {
          visit(numbers_[(begin + row) * matrix_.columns + column], panel[column * kLanes + row]);
        }
      }
    }
  }

  MatrixView<Scalar> matrix_;
  std::vector<Scalar> numbers_;
};

// Says whether the copies pay, or whether a matrix is in rows anyway.
template <class Scalar>
bool sums_rows(const SegmentSum& sums, std::size_t lanes, const MatrixView<Scalar>& out,
               std::span<const MatrixView<Scalar>> sources) {
  EMPLACE_CHECK(out.layout != Layout::kColumns, "sums of rows in columns");
  bool is_in_rows = out.layout == Layout::kRows;
  std::size_t copied = out.rows;
  for (const MatrixView<Scalar>& source : sources) {
    EMPLACE_CHECK(source.layout != Layout::kColumns, "sums of rows in columns");
    is_in_rows = is_in_rows || source.layout == Layout::kRows;
    copied += source.data == nullptr ? 0 : source.rows;
  }
  EMPLACE_DCHECK(lanes == 1 || !is_in_rows, "{} lanes of a matrix in rows", lanes);
  return lanes == 1 && (is_in_rows || 2 * sums.entries.size() >= copied);
}

template <class Scalar>
void add_row(const Scalar* from, Scalar* to, std::size_t columns, Scalar factor) {
  for (std::size_t column = 0; column < columns; ++column) {
    to[column] += from[column] * factor;
  }
}

}  // namespace

SegmentArguments arguments_of(const SegmentSum& sums, std::size_t lanes, Combine combine) {
  return {.entries = sums.entries.data(),
          .begin = sums.begin.data(),
          .rows = sums.rows(),
          .lanes = lanes,
          .is_mean = combine == Combine::kMean};
}

template <class Scalar>
void segment_sum(const SegmentSum& sums, std::size_t lanes, Combine combine,
                 std::span<const MatrixView<Scalar>> sources, const MatrixView<Scalar>& out) {
  if (sums_rows(sums, lanes, out, sources)) {
    std::fill_n(out.data, out.size(), Scalar{0});
    std::vector<Rows<Scalar>> from(sources.begin(), sources.end());
    Rows<Scalar> to(out);
    for (std::size_t row = 0; row < sums.rows(); ++row) {
      const std::span<const SegmentSum::Entry> entries = sums.of_row(row);
      const auto factor = factor_of<Scalar>(combine, entries.size());
      for (const SegmentSum::Entry entry : entries) {
        add_row(
            from[static_cast<std::size_t>(entry.source)].row(static_cast<std::size_t>(entry.row)),
            to.row(row), out.columns, factor);
      }
    }
    to.copy_back();
    return;
  }
  if (out.rows % kLanes != 0) {
    std::fill_n(out.data + out.rows / kLanes * kLanes * out.columns, kLanes * out.columns,
                Scalar{0});
  }
  kernels<Scalar>().segment_sum(arguments_of(sums, lanes, combine), sources.data(), out);
}

template <class Scalar>
void add_segment_sum_gradients(const SegmentSum& sums, std::size_t lanes, Combine combine,
                               const MatrixView<Scalar>& out,
                               std::span<const MatrixView<Scalar>> sources) {
  if (sums_rows(sums, lanes, out, sources)) {
    Rows<Scalar> from(out);
    std::vector<Rows<Scalar>> to(sources.begin(), sources.end());
    for (std::size_t row = 0; row < sums.rows(); ++row) {
      const std::span<const SegmentSum::Entry> entries = sums.of_row(row);
      const auto factor = factor_of<Scalar>(combine, entries.size());
      for (const SegmentSum::Entry entry : entries) {
        const auto source = static_cast<std::size_t>(entry.source);
        if (sources[source].data != nullptr) {
          add_row(from.row(row), to[source].row(static_cast<std::size_t>(entry.row)), out.columns,
                  factor);
        }
      }
    }
    for (Rows<Scalar>& rows : to) {
      rows.copy_back();
    }
    return;
  }
  kernels<Scalar>().add_segment_sum_gradients(arguments_of(sums, lanes, combine), out,
                                              sources.data());
}

template void segment_sum(const SegmentSum&, std::size_t, Combine,
                          std::span<const MatrixView<float>>, const MatrixView<float>&);
template void segment_sum(const SegmentSum&, std::size_t, Combine,
                          std::span<const MatrixView<double>>, const MatrixView<double>&);
template void add_segment_sum_gradients(const SegmentSum&, std::size_t, Combine,
                                        const MatrixView<float>&,
                                        std::span<const MatrixView<float>>);
template void add_segment_sum_gradients(const SegmentSum&, std::size_t, Combine,
                                        const MatrixView<double>&,
                                        std::span<const MatrixView<double>>);

}  // namespace emplace::agents::nn

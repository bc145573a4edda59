#include "segment_sum.hpp"

#include <algorithm>

namespace emplace::agents::nn {
namespace {

// Adds kRows rows of all columns, times a factor.
template <std::size_t kRows, class Scalar>
void add_rows(const Scalar* from, Scalar* to, std::size_t columns, Scalar factor) {
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < kRows; ++row) {
      to[column * kLanes + row] += from[column * kLanes + row] * factor;
    }
  }
}

// Calls add(from, to, columns, factor) for `lanes` rows at a time.
template <class Scalar>
auto adder(std::size_t lanes) -> void (*)(const Scalar*, Scalar*, std::size_t, Scalar) {
  switch (lanes) {
    case 1:
      return add_rows<1, Scalar>;
    case 2:
      return add_rows<2, Scalar>;
    case 4:
      return add_rows<4, Scalar>;
    case 8:
      return add_rows<8, Scalar>;
    default:
      return add_rows<16, Scalar>;
  }
}

template <class Scalar>
Scalar factor_of(Combine combine, std::size_t count) {
  return combine == Combine::kMean && count > 0 ? Scalar{1} / static_cast<Scalar>(count)
                                                : Scalar{1};
}

}  // namespace

template <class Scalar>
void segment_sum(const SegmentSum& sums, std::size_t lanes, Combine combine,
                 std::span<const MatrixView<Scalar>> sources, const MatrixView<Scalar>& out) {
  std::fill_n(out.data, out.size(), Scalar{0});
  const auto add = adder<Scalar>(lanes);
  for (std::size_t row = 0; row < sums.rows(); ++row) {
    const std::span<const SegmentSum::Entry> entries = sums.of_row(row);
    const auto factor = factor_of<Scalar>(combine, entries.size());
    for (const SegmentSum::Entry entry : entries) {
      const MatrixView<Scalar>& in = sources[static_cast<std::size_t>(entry.source)];
      add(in.row(static_cast<std::size_t>(entry.row) * lanes), out.row(row * lanes), out.columns,
          factor);
    }
  }
}

template <class Scalar>
void add_segment_sum_gradients(const SegmentSum& sums, std::size_t lanes, Combine combine,
                               const MatrixView<Scalar>& out,
                               std::span<const MatrixView<Scalar>> sources) {
  const auto add = adder<Scalar>(lanes);
  for (std::size_t row = 0; row < sums.rows(); ++row) {
    const std::span<const SegmentSum::Entry> entries = sums.of_row(row);
    const auto factor = factor_of<Scalar>(combine, entries.size());
    for (const SegmentSum::Entry entry : entries) {
      const MatrixView<Scalar>& to = sources[static_cast<std::size_t>(entry.source)];
      if (to.data != nullptr) {
        add(out.row(row * lanes), to.row(static_cast<std::size_t>(entry.row) * lanes), out.columns,
            factor);
      }
    }
  }
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

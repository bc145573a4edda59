#pragma once

// How a convolution's window moves over its maps. An op's shape tells extents, window, strides and
// results but no padding; the padding is what makes the results so many:
//
//   (P - 1) stride + (R - 1) dilation + 1 - H
//
// and nothing where that is negative, since a last row is then left over. Where it is odd, the
// larger half comes first: with a stride of at least 2 that is what frameworks do which pad both
// sides alike.

#include <emplace/graphs/op_graph.hpp>

#include <array>
#include <cstdint>

namespace emplace::calibrate {

/// Describes a convolution from maps [N, C, H, W] to results [N, K, P, Q]; arrays hold down and
/// across.
struct ConvolutionGeometry {
  std::int64_t maps = 0;      ///< N
  std::int64_t channels = 0;  ///< C
  std::int64_t filters = 0;   ///< K
  std::array<std::int64_t, 2> extent{};   ///< H and W
  std::array<std::int64_t, 2> window{};   ///< R and S
  std::array<std::int64_t, 2> stride{};   ///< U and V
  std::int64_t dilation = 1;
  std::array<std::int64_t, 2> results{};  ///< P and Q
  std::array<std::int64_t, 2> before{};   ///< zeros above and left of each map
  std::array<std::int64_t, 2> after{};    ///< zeros below and right of each map, where they differ

  /// Says whether padding both sides with `before` would make the same results.
  bool is_symmetric() const;
};

/// Returns the geometry of a conv2d, of one of its gradients, or of a conv2d_transpose: in all of
/// them that of the convolution. Requires: twelve entries of shape.
ConvolutionGeometry convolution_geometry(const Op& op);

}  // namespace emplace::calibrate

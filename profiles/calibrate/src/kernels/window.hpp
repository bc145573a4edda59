#pragma once

// Windows over feature maps, whose padding follows from sizes: what the windows reach beyond the
// map is shared by both of its sides, the last getting more.

#include "skeleton.hpp"

namespace emplace::calibrate::kernels {

/// Returns the elements that windows reach beyond the map at its begin.
inline std::int64_t padding_before(std::int64_t extent, std::int64_t results, std::int64_t taps,
                                   std::int64_t stride, std::int64_t dilation = 1) {
  const std::int64_t reach = (results - 1) * stride + (taps - 1) * dilation + 1;
  return std::max(reach - extent, std::int64_t{0}) / 2;
}

/// Holds a range of taps or positions.
struct Range {
  std::int64_t begin;
  std::int64_t end;
};

/// One axis of a window that moves over a map.
struct WindowAxis {
  std::int64_t extent;  ///< of the map
  std::int64_t taps;    ///< of the window
  std::int64_t stride;
  std::int64_t results;
  std::int64_t padding;  ///< before the map

  WindowAxis(std::int64_t map_extent, std::int64_t window_taps, std::int64_t window_stride,
             std::int64_t window_results)
      : extent(map_extent),
        taps(window_taps),
        stride(window_stride),
        results(window_results),
        padding(padding_before(extent, results, taps, stride)) {}

  /// Divides a distance by the stride; most strides are 1, and divisions slow.
  EMPLACE_DEVICE std::int64_t in_strides(std::int64_t distance) const {
    return stride == 1 ? distance : distance / stride;
  }

  /// Returns the part of the map under the window of a result.
  EMPLACE_DEVICE Range under(std::int64_t result) const {
    const std::int64_t begin = result * stride - padding;
    return {begin > 0 ? begin : 0, begin + taps < extent ? begin + taps : extent};
  }

  /// Returns the results whose windows cover a place of the map.
  EMPLACE_DEVICE Range covering(std::int64_t place) const {
    const std::int64_t last = in_strides(place + padding);
    const std::int64_t before = place + padding - taps;
    const std::int64_t first = before < 0 ? 0 : in_strides(before) + 1;
    return {first, last + 1 < results ? last + 1 : results};
  }
};

}  // namespace emplace::calibrate::kernels

#include "convolution_geometry.hpp"

#include <emplace/graphs/check.hpp>

#include <algorithm>

namespace emplace::calibrate {

bool ConvolutionGeometry::is_symmetric() const {
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t span = (window[i] - 1) * dilation + 1;
    if ((extent[i] + 2 * before[i] - span) / stride[i] + 1 != results[i]) {
      return false;
    }
  }
  return true;
}

ConvolutionGeometry convolution_geometry(const Op& op) {
  const auto& shape = op.shape;
  EMPLACE_CHECK(shape.size() == 12, "{} of {} dimensions", op.kind, shape.size());
  ConvolutionGeometry geometry{.maps = shape[0],
                               .channels = shape[1],
                               .filters = shape[4],
                               .extent = {shape[2], shape[3]},
                               .window = {shape[5], shape[6]},
                               .stride = {shape[7], shape[8]},
                               .dilation = shape[9],
                               .results = {shape[10], shape[11]}};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t total = (geometry.results[i] - 1) * geometry.stride[i] +
                               (geometry.window[i] - 1) * geometry.dilation + 1 -
                               geometry.extent[i];
    geometry.before[i] = std::max<std::int64_t>(0, (total + 1) / 2);
    geometry.after[i] = std::max<std::int64_t>(0, total / 2);
  }
  return geometry;
}

}  // namespace emplace::calibrate

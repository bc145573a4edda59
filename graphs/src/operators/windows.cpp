#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace emplace::operators {
namespace {

// A window's setting of the dimension `i`.
std::int64_t entry(const Shape& list, std::size_t i, std::int64_t fallback) {
  return i < list.size() ? list[i] : fallback;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The extent that a window covers.
std::int64_t reach(std::int64_t kernel, std::int64_t dilation) {
  return sum({product({kernel - 1, dilation}), 1});
}

}  // namespace

Shape places(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
             const Window& window, bool ceil_mode) {
  Shape result;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t stride = entry(window.strides, i, 1);
    const std::int64_t dilation = entry(window.dilations, i, 1);
    if (kernel[i] < 1 || stride < 1 || dilation < 1) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format("expected window, stride and dilation of at least 1, found {}, {}, {}",
                      kernel[i], stride, dilation));
    }
    const std::int64_t before = entry(window.pads, i, 0);
    const std::int64_t after = entry(window.pads, i + extents.size(), 0);
    const std::int64_t covered = reach(kernel[i], dilation);
    const std::int64_t free = sum({extents[i], before, after, -covered});
    if (free < 0) {
      throw Error(ErrorCode::kFormat, fmt::format("a window of {} does not fit into [{}]", covered,
                                                  fmt::join(extents, ", ")));
    }
    std::int64_t count = free / stride + 1;
    if (ceil_mode) {
      count = ceil_div(free, stride) + 1;
      // The last window must begin within the map or the padding before it.
      count -= product({count - 1, stride}) >= sum({extents[i], before}) ? 1 : 0;
    }
    result.push_back(count);
  }
  return result;
}

Shape pads_for(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
               const Window& window, std::span<const std::int64_t> places, bool more_before) {
  Shape pads(2 * extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t wanted = sum({product({places[i] - 1, entry(window.strides, i, 1)}),
                                     reach(kernel[i], entry(window.dilations, i, 1))});
    const std::int64_t total = std::max<std::int64_t>(wanted - extents[i], 0);
    pads[i] = more_before ? total - total / 2 : total / 2;
    pads[i + extents.size()] = total - pads[i];
  }
  return pads;
}

Shape same_pads(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
                const Window& window, bool more_before) {
  Shape places;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    places.push_back(ceil_div(extents[i], std::max<std::int64_t>(entry(window.strides, i, 1), 1)));
  }
  return pads_for(extents, kernel, window, places, more_before);
}

Shape transpose_pads(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
                     const Window& window, std::span<const std::int64_t> places) {
  Shape pads(2 * extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t total = sum({product({places[i] - 1, entry(window.strides, i, 1)}),
                                    reach(kernel[i], entry(window.dilations, i, 1)), -extents[i]});
    pads[i] = total / 2;
    pads[i + extents.size()] = total - pads[i];
  }
  return pads;
}

PoolAttributes adaptive_pool(std::span<const std::int64_t> extents,
                             std::span<const std::int64_t> places) {
  const std::size_t size = extents.size();
  PoolAttributes pool{.window = {.dilations = Shape(size, 1), .pads = Shape(2 * size, 0)}};
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t count = std::max<std::int64_t>(places[i], 1);
    pool.kernel_shape.push_back(ceil_div(extents[i], count));
    // How far the only window would move does not matter.
    pool.window.strides.push_back(count == 1 ? 1 : std::max<std::int64_t>(extents[i] / count, 1));
  }
  return pool;
}

Shape as_maps(Shape maps) {
  if (maps.size() == 3) {
    maps.insert(maps.begin() + 2, 1);
  }
  return maps;
}

}  // namespace emplace::operators

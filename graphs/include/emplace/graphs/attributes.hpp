#pragma once

// The attributes of an op: what says, besides its inputs, what it computes. They are called as in
// ONNX. An op whose kind has no attributes here, or which was read from a file that
// has none, has a std::monostate.

#include <cstdint>
#include <variant>
#include <vector>

namespace emplace {

/// How a window moves over maps [N, C, ...]. A list has a number for each dimension behind C, or
/// none where the source of a graph does not say.
struct Window {
  std::vector<std::int64_t> strides{};    ///< how far it moves at a time, at least 1
  std::vector<std::int64_t> dilations{};  ///< distance between neighbours under it, at least 1
  /// Elements that are put around the maps: those before each dimension, then those after each.
  std::vector<std::int64_t> pads{};

  bool operator==(const Window&) const = default;
};

/// The attributes of a convolution of maps [N, C, ...] with filters [K, C / groups, ...], of its
/// transpose, and of their gradients.
struct ConvAttributes {
  Window window{};
  std::int64_t group = 1;  ///< number of groups of channels, each with filters of its own

  bool operator==(const ConvAttributes&) const = default;
};

/// The attributes of a pooling of maps [N, C, ...], and of its gradient.
struct PoolAttributes {
  std::vector<std::int64_t> kernel_shape{};  ///< extents of the window, at least 1
  Window window{};
  bool ceil_mode = false;  ///< a window may begin within the maps and end beyond the padding

  bool operator==(const PoolAttributes&) const = default;
};

/// The attributes of an op.
using Attributes = std::variant<std::monostate, ConvAttributes, PoolAttributes>;

}  // namespace emplace

#pragma once

// The attributes of an op: what says, besides its inputs, what it computes. They are called as in
// ONNX. An op whose kind has no attributes here, or which was read from a file that
// has none, has a std::monostate.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
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

/// How maps of two dimensions may lie in memory.
inline constexpr std::array<std::string_view, 2> kImageLayouts = {"nchw", "nhwc"};

/// The attributes of a convolution of maps [N, C, ...] with filters [K, C / groups, ...], of its
/// transpose, and of their gradients.
struct ConvAttributes {
  Window window{};
  std::int64_t group = 1;  ///< number of groups of channels, each with filters of its own
  std::string layout{};    ///< one of kImageLayouts, or empty: what suits the device

  bool operator==(const ConvAttributes&) const = default;
};

/// The attributes of a pooling of maps [N, C, ...], and of its gradient.
struct PoolAttributes {
  std::vector<std::int64_t> kernel_shape{};  ///< extents of the window, at least 1
  Window window{};
  bool ceil_mode = false;  ///< a window may begin within the maps and end beyond the padding

  bool operator==(const PoolAttributes&) const = default;
};

/// The attributes of a product of matrices, or of a batch of them.
struct GemmAttributes {
  bool trans_a = false;  ///< the left side is stored transposed
  bool trans_b = false;  ///< the right side is stored transposed

  bool operator==(const GemmAttributes&) const = default;
};

/// The attributes of a sum over products in Einstein's notation.
struct EinsumAttributes {
  std::string equation{};  ///< "bij,bjk->bik"

  bool operator==(const EinsumAttributes&) const = default;
};

/// The attributes of what works along one axis: softmax, concat, split, gather, top_k and the like.
/// A normalization's rows are all dimensions from the axis on.
struct AxisAttributes {
  std::int64_t axis = -1;  ///< counted from the last dimension if it is negative

  bool operator==(const AxisAttributes&) const = default;
};

/// The attributes of a normalization of groups of channels.
struct GroupNormAttributes {
  std::int64_t num_groups = 1;

  bool operator==(const GroupNormAttributes&) const = default;
};

/// The attributes of a normalization over neighbouring channels.
struct LrnAttributes {
  std::int64_t size = 1;  ///< number of channels that are summed over

  bool operator==(const LrnAttributes&) const = default;
};

/// The attributes of a reduction.
struct ReduceAttributes {
  std::vector<std::int64_t> axes{};  ///< those that are reduced; none: all
  bool keepdims = false;             ///< they stay, as ones

  bool operator==(const ReduceAttributes&) const = default;
};

/// The attributes of a transpose.
struct TransposeAttributes {
  std::vector<std::int64_t> perm{};  ///< axis i of the result is axis perm[i] of the input

  bool operator==(const TransposeAttributes&) const = default;
};

/// The attributes of a map in another size.
struct ResizeAttributes {
  std::string mode = "nearest";  ///< nearest, linear or cubic

  bool operator==(const ResizeAttributes&) const = default;
};

/// The attributes of a bag of embeddings.
struct BagAttributes {
  std::string mode = "sum";  ///< sum, mean or max

  bool operator==(const BagAttributes&) const = default;
};

/// The attributes of attention: queries [N, heads, positions, width], keys and values [N, kv heads,
/// positions, width].
struct AttentionAttributes {
  bool is_causal = false;  ///< no query sees later keys

  bool operator==(const AttentionAttributes&) const = default;
};

/// The attributes of a step of an optimizer.
struct UpdateAttributes {
  std::string optimizer{};  ///< as optimizers() calls it; empty where it is not known

  bool operator==(const UpdateAttributes&) const = default;
};

/// The attributes of an op.
using Attributes =
    std::variant<std::monostate, ConvAttributes, PoolAttributes, GemmAttributes, EinsumAttributes,
                 AxisAttributes, GroupNormAttributes, LrnAttributes, ReduceAttributes,
                 TransposeAttributes, ResizeAttributes, BagAttributes, AttentionAttributes,
                 UpdateAttributes>;

}  // namespace emplace

#pragma once

// The attributes of nodes as our library of operators has them.

#include "inference.hpp"

#include <emplace/graphs/attributes.hpp>

#include <cstdint>

namespace emplace::onnx_model {

/// Returns the attributes of a node as our library has them.
using Describe = Attributes (*)(const NodeView& node);

namespace attributes {

Attributes convolution(const NodeView& node);
Attributes quantized_convolution(const NodeView& node);  ///< filters are input 3
Attributes transposed_convolution(const NodeView& node);
Attributes pooling(const NodeView& node);  ///< or the mean or largest of the whole of each map
Attributes sides(const NodeView& node);    ///< which sides of a product are transposed
Attributes equation(const NodeView& node);
Attributes permutation(const NodeView& node);
Attributes reduction(const NodeView& node);
Attributes place(const NodeView& node);  ///< of ArgMax and ArgMin
Attributes mode(const NodeView& node);   ///< of Resize
Attributes neighbours(const NodeView& node);
Attributes groups(const NodeView& node);  ///< of channels; else one for each channel

/// The attribute `axis`, or what it is where a node has none.
template <std::int64_t fallback>
Attributes axis(const NodeView& node) {
  return AxisAttributes{.axis = node.integer("axis", fallback)};
}

}  // namespace attributes

}  // namespace emplace::onnx_model

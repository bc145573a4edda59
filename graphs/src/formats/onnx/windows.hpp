#pragma once

// The attributes of nodes that move windows over maps, as the operators of our library have them.

#include "attributes.hpp"

#include <emplace/graphs/attributes.hpp>

#include <cstdint>

namespace emplace::onnx_model {

/// Returns the attributes of a convolution of maps and filters of these shapes.
ConvAttributes conv_attributes(const onnx::NodeProto& node, const Shape& maps,
                               const Shape& filters);

/// Returns those of a transposed one.
ConvAttributes conv_transpose_attributes(const onnx::NodeProto& node, const Shape& maps,
                                         const Shape& filters);

/// Returns the attributes of a pooling of maps, or of one over the whole of each map.
PoolAttributes pool_attributes(const onnx::NodeProto& node, const Shape& maps);

}  // namespace emplace::onnx_model

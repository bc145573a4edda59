#pragma once

// Layers that exporters take apart, put together again: LayerNormalization (whole from opset 17
// on), root mean square and group normalization, GELU by the error function (whole from opset 20
// on), SiLU, hard-swish, and attention (whole from opset 23 on). Frameworks run each as one kernel,
// forward and backward.

#include "model.hpp"

#include <string_view>

namespace emplace::onnx_model {

/// Marks a Squeeze whose result PyTorch makes contiguous; an attribute that ONNX does not have.
inline constexpr std::string_view kContiguous = "emplace_contiguous";

/// Replaces the nodes of such layers by one node each, which is called like the last of them.
/// O(nodes log nodes).
void fuse_layers(Model& model);

/// Does so for attention alone.
void fuse_attention(Model& model);

}  // namespace emplace::onnx_model

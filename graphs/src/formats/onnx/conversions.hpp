#pragma once

// How nodes become ops: the conversions that rows of the table of operators name. They translate
// names, attributes and inputs; what an op costs is said by our library of operators.

#include "importer.hpp"
#include "operators.hpp"

#include <cstdint>
#include <string_view>

namespace emplace::onnx_model {

/// Adds a vector, input `bias`, to `x`, along `axis` of the result.
Tensor add_bias(OnnxNode& node, Source x, int bias, const Output& result, std::int64_t axis = -1);

/// Adds an op of the node's operator that reads input 0 and these filters, and the bias if there is
/// one.
Tensor add_filters(OnnxNode& node, const Operator& row, int filters, int bias);

/// Adds a copy of an input whose elements stand one after another, and returns it.
Tensor add_copy(OnnxNode& node, int input);

/// Adds a function of the node's result.
Tensor add_function(OnnxNode& node, std::string_view name, Tensor x);

/// Adds the function that the attribute `activation` names, if there is one.
Tensor activate(OnnxNode& node, Tensor x);

/// Adds an op that normalizes `x`, which is like the result, with one variable for scale, input
/// `scale`, and offset, the input behind it, where both are weights. It keeps the statistics for
/// its gradient.
Tensor normalize(OnnxNode& node, std::string_view name, const Attributes& attributes, Source x,
                 int scale, std::int64_t persistent_bytes = 0);

namespace convert {

// --- Each number by itself, and what moves numbers (conversions.cpp) ---

void plain(OnnxNode& node, const Operator& row);  ///< one op of all data
void first(OnnxNode& node, const Operator& row);  ///< one op of input 0; the others are settings
void pair(OnnxNode& node, const Operator& row);   ///< one op of inputs 0 and 1
void binary(OnnxNode& node, const Operator& row);
void cast(OnnxNode& node, const Operator& row);
void dropout(OnnxNode& node, const Operator& row);
void gather(OnnxNode& node, const Operator& row);
void pad(OnnxNode& node, const Operator& row);
void several(OnnxNode& node, const Operator& row);  ///< any number of inputs
void unchanged(OnnxNode& node, const Operator& row);

// --- Views (views.cpp) ---

void expand(OnnxNode& node, const Operator& row);
void matmul(OnnxNode& node, const Operator& row);
void reshape(OnnxNode& node, const Operator& row);
void select(OnnxNode& node);
void slice(OnnxNode& node, const Operator& row);
void split(OnnxNode& node, const Operator& row);
void transpose(OnnxNode& node, const Operator& row);

// --- Layers with weights, windows or rows (layer_conversions.cpp) ---

void batch_norm(OnnxNode& node, const Operator& row);
void conv(OnnxNode& node, const Operator& row);
void cross_entropy(OnnxNode& node, const Operator& row);
void gemm(OnnxNode& node, const Operator& row);
void norm(OnnxNode& node, const Operator& row);
void pool(OnnxNode& node, const Operator& row);
void recurrent(OnnxNode& node, const Operator& row);
void sigmoid(OnnxNode& node, const Operator& row);
void softmax(OnnxNode& node, const Operator& row);

// --- Attention, and what stands around it (attention_conversions.cpp) ---

void attention(OnnxNode& node, const Operator& row);
void embed_layer_norm(OnnxNode& node, const Operator& row);
void group_query_attention(OnnxNode& node, const Operator& row);
void masked_attention(OnnxNode& node, const Operator& row);
void multi_head_attention(OnnxNode& node, const Operator& row);
void skip_layer_norm(OnnxNode& node, const Operator& row);
void standard_attention(OnnxNode& node, const Operator& row);

// --- Quantized layers, and what ONNX Runtime has fused (fused_conversions.cpp) ---

void bias_add(OnnxNode& node, const Operator& row);
void bias_gelu(OnnxNode& node, const Operator& row);
void experts(OnnxNode& node, const Operator& row);
void fused_conv(OnnxNode& node, const Operator& row);
void fused_group_norm(OnnxNode& node, const Operator& row);
void packed_gather(OnnxNode& node, const Operator& row);
void packed_matmul(OnnxNode& node, const Operator& row);
void quantized_conv(OnnxNode& node, const Operator& row);
void quantized_gemm(OnnxNode& node, const Operator& row);
void quantized_pair(OnnxNode& node, const Operator& row);  ///< one op of inputs 0 and 3
void split_gelu(OnnxNode& node, const Operator& row);

}  // namespace convert

}  // namespace emplace::onnx_model

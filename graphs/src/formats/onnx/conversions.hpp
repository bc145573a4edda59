#pragma once

// How nodes become ops: the conversions that rows of the table of operators name.

#include "importer.hpp"
#include "operators.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace emplace::onnx_model {

/// Returns the number of a tensor's elements.
std::int64_t elements(const Output& value);

/// Returns the kind of the op: the row's, else the operator's own name.
std::string kind_for(const OnnxNode& node, const Operator& row);

/// Adds an op that makes the node's results from all its data.
void emit_plain(OnnxNode& node, std::string_view kind, Shape shape, std::int64_t flops);

/// Adds a vector, input `index`, to `x`, which is like `value`; `shape` says how, as for the kind
/// bias_add.
Tensor bias_add(OnnxNode& node, Tensor x, const Output& value, std::size_t index, Shape shape);

namespace convert {

/// Starts the op of a convolution of input 0 with the filters that are this input.
Op convolution(OnnxNode& node, std::size_t filters);

/// Adds an op that reads input 0 and these filters, and adds the bias if there is one.
Tensor emit_filters(OnnxNode& node, Op op, std::size_t filters, std::size_t bias);

/// Starts the op of a product of tensors of these shapes.
Op matrix_product(OnnxNode& node, Shape left, Shape right, const Shape& result);

/// Adds an op that normalizes `x`, with one variable for scale, input `scale`, and offset, the
/// input behind it, where both are weights. Its second output is the statistics, for the gradient.
Tensor emit_norm(OnnxNode& node, Op op, Tensor x, std::size_t scale, Shape statistics);

/// Adds the function that the attribute `activation` names, if there is one.
Tensor activate(OnnxNode& node, Tensor x);

// --- Each number by itself, and what moves numbers (conversions.cpp) ---

void binary(OnnxNode& node, const Operator& row);
void cast(OnnxNode& node, const Operator& row);
void concat(OnnxNode& node, const Operator& row);
void dropout(OnnxNode& node, const Operator& row);
void einsum(OnnxNode& node, const Operator& row);
void elementwise(OnnxNode& node, const Operator& row);  ///< FLOPs for each number of the result
void gather(OnnxNode& node, const Operator& row);
void movement(OnnxNode& node, const Operator& row);  ///< without FLOPs
void per_input(OnnxNode& node, const Operator& row);
void per_result(OnnxNode& node, const Operator& row);
void pick(OnnxNode& node, const Operator& row);
void reduce(OnnxNode& node, const Operator& row);
void resize(OnnxNode& node, const Operator& row);
void several(OnnxNode& node, const Operator& row);  ///< any number of inputs
void split(OnnxNode& node, const Operator& row);
void top_k(OnnxNode& node, const Operator& row);
void transpose(OnnxNode& node, const Operator& row);
void unchanged(OnnxNode& node, const Operator& row);
void view(OnnxNode& node, const Operator& row);

// --- Layers with weights, windows or rows (layer_conversions.cpp) ---

void batch_norm(OnnxNode& node, const Operator& row);
void conv(OnnxNode& node, const Operator& row);
void conv_transpose(OnnxNode& node, const Operator& row);
void cross_entropy(OnnxNode& node, const Operator& row);
void gemm(OnnxNode& node, const Operator& row);
void group_norm(OnnxNode& node, const Operator& row);
void layer_norm(OnnxNode& node, const Operator& row);
void local_response_norm(OnnxNode& node, const Operator& row);
void matmul(OnnxNode& node, const Operator& row);
void pool(OnnxNode& node, const Operator& row);
void recurrent(OnnxNode& node, const Operator& row);
void sigmoid(OnnxNode& node, const Operator& row);
void softmax(OnnxNode& node, const Operator& row);

// --- Attention, and what stands around it (attention_conversions.cpp) ---

void attention(OnnxNode& node, const Operator& row);
void embed_layer_norm(OnnxNode& node, const Operator& row);
void group_query_attention(OnnxNode& node, const Operator& row);
void multi_head_attention(OnnxNode& node, const Operator& row);
void rotary_embedding(OnnxNode& node, const Operator& row);
void skip_layer_norm(OnnxNode& node, const Operator& row);
void standard_attention(OnnxNode& node, const Operator& row);

// --- Quantized layers, and what ONNX Runtime has fused (fused_conversions.cpp) ---

void bias_gelu(OnnxNode& node, const Operator& row);
void experts(OnnxNode& node, const Operator& row);
void fused_conv(OnnxNode& node, const Operator& row);
void fused_group_norm(OnnxNode& node, const Operator& row);
void fused_matmul(OnnxNode& node, const Operator& row);
void packed_gather(OnnxNode& node, const Operator& row);
void packed_matmul(OnnxNode& node, const Operator& row);
void quantized_conv(OnnxNode& node, const Operator& row);
void quantized_gemm(OnnxNode& node, const Operator& row);
void quantized_matmul(OnnxNode& node, const Operator& row);
void split_gelu(OnnxNode& node, const Operator& row);

}  // namespace convert

}  // namespace emplace::onnx_model

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
std::string kind_for(const Node& node, const Operator& row);

/// Adds an op that makes the node's results from all its data.
void emit_plain(Node& node, std::string_view kind, Shape shape, std::int64_t flops);

/// Adds a vector, input `index`, to `x`, which is like `value`; `shape` says how, as for the kind
/// bias_add.
Tensor bias_add(Node& node, Tensor x, const Output& value, std::size_t index, Shape shape);

namespace convert {

/// Starts the op of a convolution of maps by filters, of these shapes; `result` is as maps.
Op convolution(Node& node, const Shape& x, const Shape& filters, const Shape& result);

/// Adds an op that reads input 0 and these filters, and adds the bias if there is one.
Tensor emit_filters(Node& node, Op op, std::size_t filters, std::size_t bias);

/// Starts the op of a product of tensors of these shapes.
Op matrix_product(Node& node, Shape left, Shape right, const Shape& result);

/// Adds an op that normalizes `x`, with one variable for scale, input `scale`, and offset, the
/// input behind it, where both are weights. Its second output is the statistics, for the gradient.
Tensor emit_norm(Node& node, Op op, Tensor x, std::size_t scale, Shape statistics);

/// Adds the function that the attribute `activation` names, if there is one.
Tensor activate(Node& node, Tensor x);

// --- Each number by itself, and what moves numbers (conversions.cpp) ---

void binary(Node& node, const Operator& row);
void cast(Node& node, const Operator& row);
void concat(Node& node, const Operator& row);
void dropout(Node& node, const Operator& row);
void einsum(Node& node, const Operator& row);
void elementwise(Node& node, const Operator& row);  ///< FLOPs for each number of the result
void gather(Node& node, const Operator& row);
void movement(Node& node, const Operator& row);  ///< without FLOPs
void per_input(Node& node, const Operator& row);
void per_result(Node& node, const Operator& row);
void pick(Node& node, const Operator& row);
void reduce(Node& node, const Operator& row);
void resize(Node& node, const Operator& row);
void several(Node& node, const Operator& row);  ///< any number of inputs
void split(Node& node, const Operator& row);
void top_k(Node& node, const Operator& row);
void transpose(Node& node, const Operator& row);
void unchanged(Node& node, const Operator& row);
void view(Node& node, const Operator& row);

// --- Layers with weights, windows or rows (layer_conversions.cpp) ---

void batch_norm(Node& node, const Operator& row);
void conv(Node& node, const Operator& row);
void conv_transpose(Node& node, const Operator& row);
void cross_entropy(Node& node, const Operator& row);
void gemm(Node& node, const Operator& row);
void global_pool(Node& node, const Operator& row);
void group_norm(Node& node, const Operator& row);
void layer_norm(Node& node, const Operator& row);
void local_response_norm(Node& node, const Operator& row);
void matmul(Node& node, const Operator& row);
void pool(Node& node, const Operator& row);
void recurrent(Node& node, const Operator& row);
void sigmoid(Node& node, const Operator& row);
void softmax(Node& node, const Operator& row);

// --- Attention, and what stands around it (attention_conversions.cpp) ---

void attention(Node& node, const Operator& row);
void embed_layer_norm(Node& node, const Operator& row);
void group_query_attention(Node& node, const Operator& row);
void multi_head_attention(Node& node, const Operator& row);
void rotary_embedding(Node& node, const Operator& row);
void skip_layer_norm(Node& node, const Operator& row);
void standard_attention(Node& node, const Operator& row);

// --- Quantized layers, and what ONNX Runtime has fused (fused_conversions.cpp) ---

void bias_gelu(Node& node, const Operator& row);
void experts(Node& node, const Operator& row);
void fused_conv(Node& node, const Operator& row);
void fused_group_norm(Node& node, const Operator& row);
void fused_matmul(Node& node, const Operator& row);
void packed_gather(Node& node, const Operator& row);
void packed_matmul(Node& node, const Operator& row);
void quantized_conv(Node& node, const Operator& row);
void quantized_gemm(Node& node, const Operator& row);
void quantized_matmul(Node& node, const Operator& row);
void split_gelu(Node& node, const Operator& row);

}  // namespace convert

}  // namespace emplace::onnx_model

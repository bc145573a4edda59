#pragma once

// How calls of PyTorch's operators become our ops: one row of a table for each operator.

#include "importer.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace emplace::torch_program {

/// Says how calls of one operator become ops.
struct Conversion {
  std::string_view op;                             ///< as ATen calls it, without overload
  void (*convert)(TorchNode&, const Conversion&);  ///< adds the ops
  std::string_view kind = "";                      ///< of the op; the operator's own name if empty
  std::int64_t flops = 0;                          ///< for each number, where `convert` counts so
};

/// Returns how calls of an operator become ops, by the table of operators.cpp. One that ends in '_'
/// writes over its first input and is the same as without. For an operator that has no row, an op
/// of its name without FLOPs, whose cost is a guess.
const Conversion& find_conversion(std::string_view op);

/// Says whether an operator's result depends on no more than the shapes of its inputs.
bool reads_only_shapes(std::string_view op);

/// Says whether an operator draws its result at random.
bool draws_at_random(std::string_view op);

// --- For conversions ---

using Shape = std::vector<std::int64_t>;

/// Returns the number of a tensor's elements.
std::int64_t elements(const Output& value);

/// Returns the dimension that an argument counts, from the end if it is negative.
std::size_t axis_of(std::int64_t dimension, std::size_t rank);

/// Returns the name of an operator that does not write over its input: "relu" for "relu_".
std::string_view without_write(std::string_view op);

/// Throws kFormat unless a tensor, which is `what`, has so many dimensions.
void expect_rank(const TorchNode& node, ValueId id, std::size_t rank, std::string_view what);

/// Returns the kind of the op: the row's, else the operator's own name.
std::string kind_for(const TorchNode& node, const Conversion& row);

/// Adds an op that makes the call's results from all its tensors.
void emit_plain(TorchNode& node, std::string_view kind, Shape shape, std::int64_t flops);

/// Counts FLOPs for each number of the first input.
void per_input(TorchNode& node, const Conversion& row);

/// Counts FLOPs for each number of the result of one input.
void elementwise(TorchNode& node, const Conversion& row);

/// Says that every element of `id` moves to another place or is copied, and makes the result of it.
void move_elements(TorchNode& node, ValueId id);

/// Adds a sum with a vector to `x`, which is `value`; `shape` says how, as for the op kind.
Tensor bias_add(TorchNode& node, Tensor x, const Output& value, ValueId bias, Shape shape);

/// Converts what works on each number, and what moves numbers (conversions.cpp).
void binary(TorchNode& node, const Conversion& row);
void block(TorchNode& node, const Conversion& row);
void cast(TorchNode& node, const Conversion& row);
void concat(TorchNode& node, const Conversion& row);
void copied(TorchNode& node, const Conversion& row);
void copy(TorchNode& node, const Conversion& row);
void dropout(TorchNode& node, const Conversion& row);
void expand(TorchNode& node, const Conversion& row);
void gated(TorchNode& node, const Conversion& row);
void log_sigmoid(TorchNode& node, const Conversion& row);
void masked_fill(TorchNode& node, const Conversion& row);
void moved(TorchNode& node, const Conversion& row);
void multiply_add(TorchNode& node, const Conversion& row);
void pad(TorchNode& node, const Conversion& row);
void per_result(TorchNode& node, const Conversion& row);
void pick(TorchNode& node, const Conversion& row);
void resize(TorchNode& node, const Conversion& row);
void scatter(TorchNode& node, const Conversion& row);
void split(TorchNode& node, const Conversion& row);
void top_k(TorchNode& node, const Conversion& row);
void unchanged(TorchNode& node, const Conversion& row);
void view(TorchNode& node, const Conversion& row);
void where(TorchNode& node, const Conversion& row);

/// Converts layers with weights, windows or rows (layer_conversions.cpp).
void adaptive_pool(TorchNode& node, const Conversion& row);
void addmm(TorchNode& node, const Conversion& row);
void attention(TorchNode& node, const Conversion& row);
void baddbmm(TorchNode& node, const Conversion& row);
void batch_norm(TorchNode& node, const Conversion& row);
void bilinear(TorchNode& node, const Conversion& row);
void binary_cross_entropy(TorchNode& node, const Conversion& row);
void convolution(TorchNode& node, const Conversion& row);
void cross_entropy(TorchNode& node, const Conversion& row);
void embedding(TorchNode& node, const Conversion& row);
void embedding_bag(TorchNode& node, const Conversion& row);
void layer_norm(TorchNode& node, const Conversion& row);
void linear(TorchNode& node, const Conversion& row);
void log_softmax(TorchNode& node, const Conversion& row);
void lstm_cell(TorchNode& node, const Conversion& row);
void matmul(TorchNode& node, const Conversion& row);
void mean(TorchNode& node, const Conversion& row);
void mean_squared_error(TorchNode& node, const Conversion& row);
void negative_log_likelihood(TorchNode& node, const Conversion& row);
void pool(TorchNode& node, const Conversion& row);
void recurrent(TorchNode& node, const Conversion& row);
void softmax(TorchNode& node, const Conversion& row);
void trilinear(TorchNode& node, const Conversion& row);
void weight_norm(TorchNode& node, const Conversion& row);

}  // namespace emplace::torch_program

#pragma once

// How calls of PyTorch's operators become our ops. Most are one operator of the library by their
// name (aten.hpp) that reads all their tensors; the others have a row in the table of
// operators.cpp.

#include "importer.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace emplace::torch_program {

/// Adds the ops of a call of an operator; `kind` is its operator of the library (kind_of_aten()).
using Conversion = void (*)(TorchNode&, std::string_view kind);

/// Returns how calls of an operator become ops. One that ends in '_' writes over its first input
/// and is the same as without. An operator that neither emplace nor its table knows becomes an op
/// of its name without FLOPs, whose cost is a guess.
Conversion find_conversion(std::string_view op);

/// Says whether an operator's result depends on no more than the shapes of its inputs.
bool reads_only_shapes(std::string_view op);

/// Says whether an operator draws its result at random.
bool draws_at_random(std::string_view op);

// --- For conversions ---

using Shape = std::vector<std::int64_t>;

/// Adds a copy of a tensor whose elements stand one after another, and returns it.
Tensor add_copy(TorchNode& node, ValueId x);

/// Returns the number of a tensor's elements.
std::int64_t elements(const Output& value);

/// Returns the tensor that an operator is about; its name depends on the operator.
ValueId self_of(const TorchNode& node);

/// Throws kFormat unless a tensor, which is `what`, has so many dimensions.
void expect_rank(const TorchNode& node, ValueId id, std::size_t rank, std::string_view what);

/// Adds an op that makes the call's results from all its tensors.
void plain(TorchNode& node, std::string_view kind);

/// Converts what works on each number, and what moves numbers (conversions.cpp).
void binary(TorchNode& node, std::string_view kind);
void block(TorchNode& node, std::string_view kind);
void cast(TorchNode& node, std::string_view kind);
void concat(TorchNode& node, std::string_view kind);
void copied(TorchNode& node, std::string_view kind);
void copy(TorchNode& node, std::string_view kind);
void dropout(TorchNode& node, std::string_view kind);
void expand(TorchNode& node, std::string_view kind);
void extreme(TorchNode& node, std::string_view kind);
void first_result(TorchNode& node, std::string_view kind);
void gated(TorchNode& node, std::string_view kind);
void masked_fill(TorchNode& node, std::string_view kind);
void multiply_add(TorchNode& node, std::string_view kind);
void of_one(TorchNode& node, std::string_view kind);
void pad(TorchNode& node, std::string_view kind);
void pick(TorchNode& node, std::string_view kind);
void resize(TorchNode& node, std::string_view kind);
void split(TorchNode& node, std::string_view kind);
void unchanged(TorchNode& node, std::string_view kind);
void view(TorchNode& node, std::string_view kind);
void where(TorchNode& node, std::string_view kind);

/// Converts layers with weights, windows or rows (layer_conversions.cpp).
void adaptive_pool(TorchNode& node, std::string_view kind);
void addmm(TorchNode& node, std::string_view kind);
void along_axis(TorchNode& node, std::string_view kind);
void attention(TorchNode& node, std::string_view kind);
void baddbmm(TorchNode& node, std::string_view kind);
void batch_norm(TorchNode& node, std::string_view kind);
void bilinear(TorchNode& node, std::string_view kind);
void convolution(TorchNode& node, std::string_view kind);
void einsum(TorchNode& node, std::string_view kind);
void embedding(TorchNode& node, std::string_view kind);
void embedding_bag(TorchNode& node, std::string_view kind);
void group_norm(TorchNode& node, std::string_view kind);
void layer_norm(TorchNode& node, std::string_view kind);
void linear(TorchNode& node, std::string_view kind);
void log_softmax(TorchNode& node, std::string_view kind);
void matmul(TorchNode& node, std::string_view kind);
void pool(TorchNode& node, std::string_view kind);
void reduce(TorchNode& node, std::string_view kind);
void trilinear(TorchNode& node, std::string_view kind);
void unfused_attention(TorchNode& node, std::string_view kind);
void weight_norm(TorchNode& node, std::string_view kind);

/// Converts recurrent layers (recurrent_conversions.cpp) and losses (loss_conversions.cpp).
void cross_entropy(TorchNode& node, std::string_view kind);
void difference(TorchNode& node, std::string_view kind);
void lstm_cell(TorchNode& node, std::string_view kind);
void recurrent(TorchNode& node, std::string_view kind);

}  // namespace emplace::torch_program

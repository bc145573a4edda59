#pragma once

// How nodes of ONNX become our ops: one row of a table for each operator.

#include "importer.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

/// Says how nodes of one operator become ops.
struct Conversion {
  std::string_view op_type;                   ///< as ONNX calls it
  void (*convert)(Node&, const Conversion&);  ///< adds the ops
  std::string_view kind = "";                 ///< of the op; the operator's own name if empty
  std::int64_t flops = 0;                     ///< for each number, where `convert` counts so
};

/// Returns how nodes of a standard operator become ops; for an operator that has no row, an op of
/// its name without FLOPs, whose cost is a guess.
Conversion find_conversion(std::string_view op_type);

/// Returns an operator's name in our spelling: "GlobalMaxPool" becomes "global_max_pool".
std::string kind_of(std::string_view op_type);

// --- For conversions
// -------------------------------------------------------------------------------

using Shape = std::vector<std::int64_t>;

/// Returns the number of a tensor's elements.
std::int64_t elements(const Output& value);

/// Returns the kind of the op: the row's, else the operator's own name.
std::string kind_for(const Node& node, const Conversion& row);

/// Adds an op that makes the node's results from all its data.
void emit_plain(Node& node, std::string_view kind, std::int64_t flops);

/// Counts FLOPs for each number of the first input.
void per_input(Node& node, const Conversion& row);

/// Converts layers with weights, windows or rows (layer_conversions.cpp).
void batch_norm(Node& node, const Conversion& row);
void conv(Node& node, const Conversion& row);
void conv_transpose(Node& node, const Conversion& row);
void cross_entropy(Node& node, const Conversion& row);
void gemm(Node& node, const Conversion& row);
void global_avg_pool(Node& node, const Conversion& row);
void layer_norm(Node& node, const Conversion& row);
void matmul(Node& node, const Conversion& row);
void pool(Node& node, const Conversion& row);
void recurrent(Node& node, const Conversion& row);
void softmax(Node& node, const Conversion& row);

}  // namespace emplace::onnx_model

#pragma once

// The operators that emplace knows: of each, the shapes of its results and the ops that its nodes
// become, in one row of a table.

#include "inference.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace::onnx_model {

class OnnxNode;
struct Operator;

/// Adds the ops of a node.
using Conversion = void (*)(OnnxNode&, const Operator&);

/// Describes one operator.
struct Operator {
  std::string_view op_type;    ///< as ONNX calls it
  ShapeRule infer;             ///< says what its results are
  Conversion convert;          ///< adds the ops
  std::string_view kind = "";  ///< of the op; the operator's own name if empty
  std::int64_t flops = 0;      ///< for each number, where `convert` counts so
};

/// Returns the row of an operator, or null. Domains are ONNX' own and ONNX Runtime's,
/// `com.microsoft`.
const Operator* find_operator(std::string_view domain, std::string_view op_type);

/// Returns an operator's name in our spelling: "GlobalMaxPool" becomes "global_max_pool".
std::string kind_of(std::string_view op_type);

}  // namespace emplace::onnx_model

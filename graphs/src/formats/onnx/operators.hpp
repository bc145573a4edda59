#pragma once

// The operators that emplace knows: what each is in our library of operators, and where ONNX has
// rules of its own, the shapes of its results and the ops that its nodes become.

#include "inference.hpp"
#include "library_attributes.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace emplace::onnx_model {

class OnnxNode;
struct Operator;

/// Adds the ops of a node.
using Conversion = void (*)(OnnxNode&, const Operator&);

/// Describes one operator.
struct Operator {
  std::string_view op_type;       ///< as ONNX calls it
  std::string_view kind = "";     ///< as our library calls it; the same in our spelling if empty
  ShapeRule infer = nullptr;      ///< says what its results are; null: our library does
  Conversion convert = nullptr;   ///< adds the ops; null: one, which reads all data
  Describe attributes = nullptr;  ///< returns a node's attributes; null: it has none
  std::size_t inputs = 1;         ///< how many it has at least, where our library says the results
};

/// Returns the row of an operator, or null. Domains are ONNX' own and ONNX Runtime's,
/// `com.microsoft`.
const Operator* find_operator(std::string_view domain, std::string_view op_type);

/// Returns the attributes of a node as our library has them; none where the row names no function.
Attributes attributes_of(const NodeView& node, const Operator& row);

/// Gives a node's results; throws Error if its inputs do not fit.
void infer_results(Inference& node, const Operator& row);

/// Returns an operator's name in our spelling: "GlobalMaxPool" becomes "global_max_pool".
std::string kind_of(std::string_view op_type);

}  // namespace emplace::onnx_model

#include "operators.hpp"

#include <algorithm>
#include <utility>

namespace emplace::tensorflow {

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

bool is_control_flow(std::string_view op) {
  return is_one_of(op,
                   {"Case", "Enter", "Exit", "For", "If", "LoopCond", "NextIteration", "RefEnter",
                    "RefNextIteration", "StatelessCase", "StatelessIf", "StatelessWhile", "While"});
}

bool is_variable(std::string_view op) {
  return is_one_of(op, {"VarHandleOp", "Variable", "VariableV2"});
}

bool passes_on(std::string_view op) {
  return op.starts_with("FakeQuant") ||
         is_one_of(op, {"Cast", "Dequantize", "ExpandDims", "Identity", "ReadVariableOp", "Reshape",
                        "Snapshot", "Squeeze", "StopGradient", "Transpose"});
}

bool reads_statistics(std::string_view op, std::size_t input) {
  return input >= 3 && (op.starts_with("FusedBatchNorm") || op == "_FusedBatchNormEx") &&
         op.find("Grad") == std::string_view::npos;
}

bool names_statistics(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return last.starts_with("moving_mean") || last.starts_with("moving_variance");
}

bool is_real(DataType type) {
  return type != DataType::kInt64 && type != DataType::kInt32 && type != DataType::kBool;
}

proto::DataType result_type(const proto::NodeDef& node, std::size_t index) {
  const std::string& op = node.op();
  if (is_one_of(op, {"Equal", "Greater", "GreaterEqual", "IsFinite", "IsNan", "Less", "LessEqual",
                     "LogicalAnd", "LogicalNot", "LogicalOr", "NotEqual"})) {
    return proto::DT_BOOL;
  }
  if (const auto* types = find_attribute(node, "output_types");
      types != nullptr && std::cmp_less(index, types->list().type_size())) {
    return types->list().type(static_cast<int>(index));
  }
  if ((op == "TopKV2" || op == "Merge") && index == 1) {
    return proto::DT_INT32;
  }
  if (is_one_of(op, {"Rank", "Shape", "ShapeN", "Size"}) &&
      find_attribute(node, "out_type") == nullptr) {
    return proto::DT_INT32;
  }
  for (const char* name : {"dtype", "DstT", "out_type", "output_type", "Tparams", "T", "Tidx"}) {
    if (const auto* type = find_attribute(node, name)) {
      return type->type();
    }
  }
  return proto::DT_FLOAT;
}

}  // namespace emplace::tensorflow

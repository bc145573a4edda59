// Losses.

#include "conversions.hpp"
#include "model/assemble.hpp"

#include <emplace/base/error.hpp>

#include <utility>

namespace emplace::torch_program {

// Rows of a matrix and their classes.
void cross_entropy(TorchNode& node, std::string_view) {
  const ValueId logits = self_of(node);
  const ValueId labels = node.expect({"target"});
  const Output x = node.value(logits).output;
  const bool are_classes = node.value(labels).output.type == DataType::kInt64 ||
                           node.value(labels).output.type == DataType::kInt32;
  if (x.shape.empty() || !node.output().shape.empty() || !are_classes) {
    throw Error(ErrorCode::kUnsupported,
                "expected logits [N, classes, ...], classes as integers, and their mean or sum");
  }
  // [N, C, ...] has its classes second, a row alone has them first.
  const std::int64_t columns = x.shape[x.shape.size() == 1 ? 0 : 1];
  const Output matrix = make_output({columns == 0 ? 0 : elements(x) / columns, columns}, x.type);
  const Operand rows =
      x.shape.size() == 2 ? Operand(logits) : Operand(node.make("reshape", {}, {matrix}, {logits}));
  node.give(node.result(),
            node.make("softmax_cross_entropy", {}, {make_output({}, DataType::kFloat32), matrix},
                      {rows, labels}));
}

// A mean over all numbers of two tensors of one shape.
void difference(TorchNode& node, std::string_view kind) {
  if (!node.output().shape.empty()) {
    throw Error(ErrorCode::kUnsupported, "expected the mean or the sum, one number");
  }
  node.give(node.result(), node.make(kind, {}, {make_output({}, DataType::kFloat32)},
                                     {self_of(node), node.expect({"target"})}));
}

}  // namespace emplace::torch_program

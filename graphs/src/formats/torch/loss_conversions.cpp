// Losses. Costs are those of ModelBuilder's layers.

#include "conversions.hpp"
#include "model/assemble.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace emplace::torch_program {
namespace {

// Rows of a matrix and their classes.
void give_cross_entropy(TorchNode& node, ValueId logits, ValueId labels) {
  const Output x = node.value(logits).output;
  const bool are_classes = node.value(labels).output.type == DataType::kInt64 ||
                           node.value(labels).output.type == DataType::kInt32;
  if (x.shape.empty() || !node.output().shape.empty() || !are_classes) {
    throw Error(ErrorCode::kUnsupported,
                "expected logits [N, classes, ...], classes as integers, and their mean or sum");
  }
  // [N, C, ...] has its classes second, a row alone has them first.
  const std::int64_t columns = x.shape[x.shape.size() == 1 ? 0 : 1];
  const std::int64_t rows = columns == 0 ? 0 : elements(x) / columns;
  Op op = node.make_op("softmax_cross_entropy");
  op.shape = {rows, columns};
  op.flops = sum({product({5, elements(x)}), product({2, rows})});
  op.outputs = {make_output({}, DataType::kFloat32), make_output({rows, columns}, x.type)};
  Tensor matrix = node.read(op, logits);
  if (x.shape.size() != 2) {
    Op flatten = node.make_op("reshape");
    flatten.shape = {rows, columns};
    flatten.outputs = {make_output({rows, columns}, x.type)};
    matrix = node.emit(std::move(flatten), {matrix});
  }
  const Tensor truth = node.read(op, labels);
  node.give(node.result(), node.emit(std::move(op), {matrix, truth}));
}

// A mean over all numbers of two tensors of one shape.
void give_loss(TorchNode& node, std::string_view kind, std::int64_t flops) {
  const ValueId x = node.expect({"self", "input"});
  const ValueId target = node.expect({"target"});
  if (!node.output().shape.empty()) {
    throw Error(ErrorCode::kUnsupported, "expected the mean or the sum, one number");
  }
  Op op = node.make_op(kind);
  op.shape = {elements(node.value(x).output)};
  op.flops = product({flops, op.shape[0]});
  op.outputs = {make_output({}, DataType::kFloat32)};
  const Tensor prediction = node.read(op, x);
  const Tensor truth = node.read(op, target);
  node.give(node.result(), node.emit(std::move(op), {prediction, truth}));
}

}  // namespace

void negative_log_likelihood(TorchNode& node, const Conversion&) {
  give_cross_entropy(node, node.expect({"self", "input"}), node.expect({"target"}));
}

void cross_entropy(TorchNode& node, const Conversion&) {
  give_cross_entropy(node, node.expect({"self", "input"}), node.expect({"target"}));
}

void mean_squared_error(TorchNode& node, const Conversion&) {
  give_loss(node, "mean_squared_error", 3);
}

void binary_cross_entropy(TorchNode& node, const Conversion&) {
  give_loss(node, "sigmoid_cross_entropy", 10);
}

}  // namespace emplace::torch_program

#include "conversions.hpp"

#include "../assemble.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace emplace::onnx_model {
namespace {

// FLOPs for each number of the result.
void per_result(Node& node, const Conversion& row) {
  emit_plain(node, kind_for(node, row), product({row.flops, elements(node.result())}));
}

void elementwise(Node& node, const Conversion& row) {
  Op op = node.make_op(kind_for(node, row));
  op.shape = {elements(node.result())};
  op.flops = product({row.flops, op.shape[0]});
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

// Only the part of the data that the result holds is read.
void pick(Node& node, const Conversion& row) {
  Op op = node.make_op(kind_for(node, row));
  op.shape = {elements(node.result()), elements(node.input(0))};
  op.bytes_read = node.is_data(0) ? node.result().bytes - node.input(0).bytes : 0;
  const auto inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

void unchanged(Node& node, const Conversion&) { node.pass_on(); }

// The same elements in another shape.
void view(Node& node, const Conversion&) {
  Op op = node.make_op("reshape");
  op.shape = node.result().shape;
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

// Says whether `part`, leading ones aside, is what `shape` ends in.
bool is_suffix(Shape part, const Shape& shape) {
  part.erase(part.begin(), std::ranges::find_if(part, [](auto extent) { return extent != 1; }));
  return !part.empty() && part.size() < shape.size() &&
         std::equal(part.rbegin(), part.rend(), shape.rbegin());
}

// An operator on two tensors. One that is a setting changes neither size nor cost of the work.
void binary(Node& node, const Conversion& row) {
  const Shape& shape = node.result().shape;
  const auto has_shape = [&](std::size_t i) { return node.input(i).shape == shape; };
  const bool is_sum = row.op_type == "Add";
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!node.is_data(1 - i) && has_shape(i)) {
      Op op = node.make_op(row.op_type == "Mul" || (row.op_type == "Div" && i == 0) ? "scale"
                           : i == 0 && row.op_type == "Sub"                         ? "add"
                                                            : kind_for(node, row));
      op.shape = {elements(node.result())};
      op.flops = op.shape[0];
      const Tensor x = node.read(op, i);
      node.emit_results(std::move(op), {{x}});
      return;
    }
    if (is_sum && has_shape(i) && !has_shape(1 - i) && is_suffix(node.input(1 - i).shape, shape) &&
        elements(node.result()) > 0) {
      Op op = node.make_op("bias_add");
      const auto columns = elements(node.input(1 - i));
      op.shape = {elements(node.result()) / columns, columns};
      op.flops = elements(node.result());
      const Tensor x = node.read(op, i);
      const Tensor bias = node.read(op, 1 - i);
      node.emit_results(std::move(op), {{x, bias}});
      return;
    }
  }
  const bool is_plain = has_shape(0) && has_shape(1);
  Op op = node.make_op((is_plain ? "" : "broadcast_") + kind_for(node, row));
  op.shape = {elements(node.result())};
  op.flops = op.shape[0];
  const auto inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

void concat(Node& node, const Conversion& row) {
  Op op = node.make_op(row.kind);
  const auto inputs = node.read_data(op);
  op.shape = {std::ssize(inputs), elements(node.result())};
  node.emit_results(std::move(op), inputs);
}

void split(Node& node, const Conversion& row) {
  Op op = node.make_op(row.kind);
  op.shape = {node.proto().output_size(), elements(node.input(0))};
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

void transpose(Node& node, const Conversion& row) {
  Op op = node.make_op(row.kind);
  op.shape = node.input(0).shape;
  const Shape axes = integers_attribute(node.proto(), "perm");
  for (std::int64_t i = 0; i < std::ssize(node.input(0).shape); ++i) {
    op.shape.push_back(axes.empty() ? std::ssize(node.input(0).shape) - 1 - i
                                    : axes[static_cast<std::size_t>(i)]);
  }
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

// Rows of a table of weights are an embedding.
void gather(Node& node, const Conversion& row) {
  const Shape& table = node.input(0).shape;
  if (!node.is_weight(0) || table.size() != 2 || !node.is_data(1) ||
      integer_attribute(node.proto(), "axis", 0) != 0) {
    return pick(node, row);
  }
  Op op = node.make_op("embedding");
  op.shape = {elements(node.input(1)), table[0], table[1]};
  op.bytes_read = node.result().bytes - node.input(0).bytes;
  const Tensor rows = node.read(op, 0);
  const Tensor ids = node.read(op, 1);
  node.emit_results(std::move(op), {{rows, ids}});
}

void dropout(Node& node, const Conversion& row) {
  const Integers* is_training = node.integers(2);
  if (is_training == nullptr || is_training->values != Shape{1}) {
    return node.pass_on();
  }
  Op op = node.make_op(row.kind);
  op.shape = {elements(node.input(0))};
  op.flops = product({row.flops, op.shape[0]});
  op.outputs = {node.result(), make_output(node.result().shape, DataType::kBool)};
  const Tensor x = node.read(op, 0);
  const Tensor y = node.emit(std::move(op), {x});
  node.give(0, y);
  node.give(1, {y.op, 1});
}

// Sorted by operator. A multiply-add is 2 FLOPs, any other operation on a number 1.
constexpr std::array kConversions = {
    Conversion{"Abs", elementwise, "", 1},
    Conversion{"Add", binary},
    Conversion{"And", per_result, "", 1},
    Conversion{"ArgMax", per_input, "", 1},
    Conversion{"ArgMin", per_input, "", 1},
    Conversion{"AveragePool", pool, "avg_pool", 0},
    Conversion{"BatchNormalization", batch_norm, "batch_norm", 5},
    Conversion{"Cast", elementwise},
    Conversion{"Ceil", elementwise, "", 1},
    Conversion{"Clip", elementwise, "", 2},
    Conversion{"Concat", concat, "concat"},
    Conversion{"Conv", conv},
    Conversion{"ConvTranspose", conv_transpose},
    Conversion{"Cos", elementwise, "", 1},
    Conversion{"CumSum", per_input, "", 1},
    Conversion{"Div", binary},
    Conversion{"Dropout", dropout, "dropout", 2},
    Conversion{"Elu", elementwise, "", 1},
    Conversion{"Equal", per_result, "", 1},
    Conversion{"Erf", elementwise, "", 1},
    Conversion{"Exp", elementwise, "", 1},
    Conversion{"Flatten", view},
    Conversion{"Floor", elementwise, "", 1},
    Conversion{"GRU", recurrent},
    Conversion{"Gather", gather},
    Conversion{"Gemm", gemm},
    Conversion{"GlobalAveragePool", global_avg_pool, "avg_pool"},
    Conversion{"GlobalMaxPool", per_input, "", 1},
    Conversion{"Greater", per_result, "", 1},
    Conversion{"GreaterOrEqual", per_result, "", 1},
    Conversion{"HardSigmoid", elementwise, "", 1},
    Conversion{"HardSwish", elementwise, "", 1},
    Conversion{"Identity", unchanged},
    Conversion{"InstanceNormalization", per_input, "", 7},
    Conversion{"LSTM", recurrent},
    Conversion{"LayerNormalization", layer_norm, "layer_norm", 7},
    Conversion{"LeakyRelu", elementwise, "", 1},
    Conversion{"Less", per_result, "", 1},
    Conversion{"LessOrEqual", per_result, "", 1},
    Conversion{"Log", elementwise, "", 1},
    Conversion{"LogSoftmax", softmax, "", 5},
    Conversion{"MatMul", matmul},
    Conversion{"Max", per_result, "", 1},
    Conversion{"MaxPool", pool, "max_pool", 1},
    Conversion{"Min", per_result, "", 1},
    Conversion{"Mod", per_result, "", 1},
    Conversion{"Mul", binary, "multiply"},
    Conversion{"Neg", elementwise, "", 1},
    Conversion{"Not", elementwise, "", 1},
    Conversion{"Or", per_result, "", 1},
    Conversion{"PRelu", per_result, "", 1},
    Conversion{"Pow", per_result, "", 1},
    Conversion{"RNN", recurrent},
    Conversion{"Reciprocal", elementwise, "", 1},
    Conversion{"ReduceL1", per_input, "", 2},
    Conversion{"ReduceL2", per_input, "", 2},
    Conversion{"ReduceLogSumExp", per_input, "", 2},
    Conversion{"ReduceMax", per_input, "", 1},
    Conversion{"ReduceMean", per_input, "", 1},
    Conversion{"ReduceMin", per_input, "", 1},
    Conversion{"ReduceProd", per_input, "", 1},
    Conversion{"ReduceSum", per_input, "", 1},
    Conversion{"ReduceSumSquare", per_input, "", 2},
    Conversion{"Relu", elementwise, "relu", 1},
    Conversion{"Reshape", view},
    Conversion{"Round", elementwise, "", 1},
    Conversion{"Selu", elementwise, "", 1},
    Conversion{"Sigmoid", elementwise, "sigmoid", 1},
    Conversion{"Sign", elementwise, "", 1},
    Conversion{"Sin", elementwise, "", 1},
    Conversion{"Slice", pick},
    Conversion{"Softmax", softmax, "softmax", 5},
    Conversion{"SoftmaxCrossEntropyLoss", cross_entropy, "", 5},
    Conversion{"Softplus", elementwise, "", 1},
    Conversion{"Softsign", elementwise, "", 1},
    Conversion{"Split", split, "split"},
    Conversion{"Sqrt", elementwise, "", 1},
    Conversion{"Squeeze", view},
    Conversion{"Sub", binary, "subtract"},
    Conversion{"Sum", per_result, "", 1},
    Conversion{"Tanh", elementwise, "tanh", 1},
    Conversion{"Transpose", transpose, "transpose"},
    Conversion{"Unsqueeze", view},
    Conversion{"Where", per_result},
    Conversion{"Xor", per_result, "", 1},
};

static_assert(std::ranges::is_sorted(kConversions, {}, &Conversion::op_type));

}  // namespace

std::int64_t elements(const Output& value) { return product(value.shape); }

std::string kind_for(const Node& node, const Conversion& row) {
  return row.kind.empty() ? kind_of(node.proto().op_type()) : std::string(row.kind);
}

void emit_plain(Node& node, std::string_view kind, std::int64_t flops) {
  Op op = node.make_op(kind);
  op.shape = node.result().shape;
  op.flops = flops;
  const auto inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

void per_input(Node& node, const Conversion& row) {
  emit_plain(node, kind_for(node, row), product({row.flops, elements(node.input(0))}));
}

Conversion find_conversion(std::string_view op_type) {
  const auto found = std::ranges::lower_bound(kConversions, op_type, {}, &Conversion::op_type);
  return found != kConversions.end() && found->op_type == op_type ? *found
                                                                  : Conversion{op_type, per_result};
}

std::string kind_of(std::string_view op_type) {
  std::string kind;
  const auto is_upper = [&](std::size_t i) {
    return i < op_type.size() && std::isupper(static_cast<unsigned char>(op_type[i])) != 0;
  };
  for (std::size_t i = 0; i < op_type.size(); ++i) {
    const bool begins_word =
        is_upper(i) && i > 0 && (!is_upper(i - 1) || (i + 1 < op_type.size() && !is_upper(i + 1)));
    kind += begins_word ? "_" : "";
    kind += static_cast<char>(std::tolower(static_cast<unsigned char>(op_type[i])));
  }
  return kind;
}

}  // namespace emplace::onnx_model

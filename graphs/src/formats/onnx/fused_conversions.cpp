// Quantized layers, and those that ONNX Runtime has fused: the ops that they are made of. Scales
// and zeros of quantized numbers are settings.

#include "conversions.hpp"
#include "model/assemble.hpp"

#include <emplace/base/error.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace emplace::onnx_model::convert {
namespace {

Tensor emit_row_bias(OnnxNode& node, Tensor x, std::size_t index) {
  const std::int64_t columns = elements(node.input(index));
  const std::int64_t count = elements(node.result());
  return bias_add(node, x, node.result(), index, {columns == 0 ? 0 : count / columns, columns});
}

}  // namespace

void quantized_conv(OnnxNode& node, const Operator& row) {
  const bool has_scales = row.op_type == "QLinearConv";
  const std::size_t filters = has_scales ? 3 : 1;
  Op op = convolution(node, filters);
  node.give(0, emit_filters(node, std::move(op), filters, has_scales ? 8 : node.num_inputs()));
}

void quantized_matmul(OnnxNode& node, const Operator& row) {
  const std::size_t right = row.op_type == "QLinearMatMul" ? 3 : 1;
  Op op = matrix_product(node, node.input(0).shape, node.input(right).shape, node.result().shape);
  op.outputs = {node.result()};
  const Tensor a = node.read(op, 0);
  const Tensor b = node.read(op, right);
  node.give(0, node.emit(std::move(op), {a, b}));
}

// Convolution, bias, a sum with a fourth input, and an activation.
void fused_conv(OnnxNode& node, const Operator&) {
  Tensor y = emit_filters(node, convolution(node, 1), 1, 2);
  if (node.is_data(3)) {
    Op reader = node.make_op("add", "add");
    reader.shape = {elements(node.result())};
    reader.flops = reader.shape[0];
    reader.outputs = {node.result()};
    const Tensor z = node.read(reader, 3);
    y = node.emit(std::move(reader), {y, z});
  }
  node.give(0, activate(node, y));
}

void fused_matmul(OnnxNode& node, const Operator&) {
  const auto side = [&](std::size_t i, std::string_view name) {
    Shape shape = node.input(i).shape;
    if (integer_attribute(node.proto(), name, 0) != 0) {
      std::swap(shape[shape.size() - 2], shape.back());
    }
    return shape;
  };
  Op op = matrix_product(node, side(0, "transA"), side(1, "transB"), node.result().shape);
  const Tensor a = node.read(op, 0);
  const Tensor b = node.read(op, 1);
  node.emit_results(std::move(op), {{a, b}});
}

void bias_gelu(OnnxNode& node, const Operator& row) {
  Op op = node.make_op(row.kind);
  op.shape = {elements(node.result())};
  op.flops = product({row.flops, op.shape[0]});
  op.outputs = {node.result()};
  Tensor x = node.read(op, 0);
  if (node.is_data(1)) {
    x = emit_row_bias(node, x, 1);
  }
  node.give(0, node.emit(std::move(op), {x}));
}

// Right sides of 4 bits or so, several in a byte, which the product makes into numbers on its way.
// The inputs are x, the packed right side, its scales, and what else tells its numbers.
void packed_matmul(OnnxNode& node, const Operator& row) {
  const Shape& result = node.result().shape;
  const auto k = integer_attribute(node.proto(), "K", 0);
  Op op = node.make_op("matmul");
  op.shape = {result.back() == 0 ? 0 : elements(node.result()) / result.back(), result.back(), k};
  op.flops = product({2, product(op.shape)});
  op.outputs = {node.result()};
  const bool has_bias = row.op_type == "MatMulNBits" && node.has_input(5);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < std::min<std::size_t>(node.num_inputs(), 5); ++i) {
    if (node.is_data(i)) {
      inputs.push_back(node.read(op, i));
    }
  }
  const Tensor y = node.emit(std::move(op), inputs);
  node.give(0, has_bias ? emit_row_bias(node, y, 5) : y);
}

// Rows are made into real numbers by a scale and a zero: 2 FLOPs for each number.
void packed_gather(OnnxNode& node, const Operator& row) {
  Op op = node.make_op(kind_for(node, row));
  op.shape = {elements(node.result()), elements(node.input(0))};
  op.flops = product({row.flops, elements(node.result())});
  // Only the rows that are read, of the table and of its scales and zeros.
  const std::int64_t rows = std::max<std::int64_t>(node.input(0).shape[0], 1);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    if (node.is_data(i)) {
      const std::int64_t bytes = node.input(i).bytes;
      op.bytes_read += product({bytes / rows, elements(node.input(1))}) - bytes;
    }
  }
  const std::vector<Tensor> inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

// Maps [N, H, W, C]; the inputs are maps, scale, offset, what is added to the maps, and a bias.
void fused_group_norm(OnnxNode& node, const Operator& row) {
  const Output& x = node.input(0);
  const std::int64_t rows = product({x.shape[0], integer_attribute(node.proto(), "groups", 1)});
  Op op = node.make_op(row.kind);
  op.shape = {rows, rows == 0 ? 0 : elements(x) / rows};
  op.flops = product({row.flops, elements(x)});
  Tensor maps = node.read(op, 0);
  if (row.op_type == "SkipGroupNorm") {
    if (node.is_data(4)) {
      maps = emit_row_bias(node, maps, 4);
    }
    Op add = node.make_op("add", "add");
    add.shape = {elements(x)};
    add.flops = add.shape[0];
    add.outputs = {x};
    const Tensor skip = node.read(add, 3);
    maps = node.emit(std::move(add), {maps, skip});
    node.give(1, maps);
  }
  Tensor y = emit_norm(node, std::move(op), maps, 1, {rows, 2});
  if (integer_attribute(node.proto(), "activation", 0) != 0) {
    Op silu = node.make_op("silu", "activation");
    silu.shape = {elements(x)};
    silu.flops = product({2, elements(x)});
    silu.outputs = {x};
    y = node.emit(std::move(silu), {y});
  }
  node.give(0, y);
}

// The product of inputs 0 and 3, and a bias, input 6.
void quantized_gemm(OnnxNode& node, const Operator&) {
  const bool is_transposed = integer_attribute(node.proto(), "transA", 0) != 0;
  const Shape& result = node.result().shape;
  Op op = node.make_op("matmul");
  op.shape = {result[0], result[1], node.input(0).shape[is_transposed ? 0 : 1]};
  op.flops = product({2, product(op.shape)});
  op.outputs = {node.result()};
  const Tensor a = node.read(op, 0);
  const Tensor b = node.read(op, 3);
  const Tensor y = node.emit(std::move(op), {a, b});
  node.give(0, node.is_data(6) ? emit_row_bias(node, y, 6) : y);
}

// Of each row, k experts of all do their layers: inputs 2, 5 and 8 of a quantized layer, with
// scales and biases between them, else 2, 4 and 6.
void experts(OnnxNode& node, const Operator& row) {
  const bool is_quantized = row.op_type == "QMoE";
  const Shape& x = node.input(0).shape;
  const std::int64_t columns = x.empty() ? 1 : x.back();
  const std::int64_t rows = columns == 0 ? 0 : elements(node.input(0)) / columns;
  const auto chosen = integer_attribute(node.proto(), "k", 1);
  const auto bits = integer_attribute(node.proto(), "expert_weight_bits", 4);
  const std::int64_t packed = is_quantized && bits > 0 && bits < 8 ? 8 / bits : 1;
  std::int64_t numbers = 0;  // of one expert
  const std::size_t step = is_quantized ? 3 : 2;
  for (std::size_t layer = 2; layer <= 2 + 2 * step; layer += step) {
    if (node.has_input(layer) && !node.input(layer).shape.empty()) {
      numbers =
          sum({numbers, product({packed, product(std::span(node.input(layer).shape).subspan(1))})});
    }
  }
  Op op = node.make_op(row.kind);
  op.shape = {rows, chosen, numbers};
  op.flops = product({2, product(op.shape)});
  const std::vector<Tensor> inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

void split_gelu(OnnxNode& node, const Operator& row) {
  Op op = node.make_op(row.kind);
  op.shape = {elements(node.result())};
  op.flops = product({row.flops, op.shape[0]});
  const std::vector<Tensor> inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

}  // namespace emplace::onnx_model::convert

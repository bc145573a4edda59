#include "conversions.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"
#include "windows.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace emplace::onnx_model::convert {
namespace {

std::int64_t rows_of(const Shape& shape) {
  return product(std::span(shape.data(), shape.size() - 1));
}

// Adds input `index` to `x`, a matrix of shape `result`.
Tensor add_side(OnnxNode& node, Tensor x, std::size_t index, const Shape& result) {
  const std::int64_t added = product(node.input(index).shape);
  if (added == result[1] && added > 0) {
    return bias_add(node, x, node.result(), index, result);
  }
  Op op = node.make_op(added == product(result) ? "add" : "broadcast_add", "add");
  op.shape = {product(result)};
  op.flops = op.shape[0];
  op.outputs = {node.result()};
  const Tensor side = node.read(op, index);
  return node.emit(std::move(op), {x, side});
}

}  // namespace

Tensor emit_filters(OnnxNode& node, Op op, std::size_t filters, std::size_t bias) {
  const Shape& result = node.result().shape;
  op.outputs = {node.result()};
  const Tensor maps = node.read(op, 0);
  const Tensor weights = node.read(op, filters);
  const Tensor y = node.emit(std::move(op), {maps, weights});
  return node.has_input(bias)
             ? bias_add(node, y, node.result(), bias,
                        {result[0], result[1], product(std::span(result).subspan(2))})
             : y;
}

Tensor emit_norm(OnnxNode& node, Op op, Tensor x, std::size_t scale, Shape statistics) {
  op.outputs = {node.result(), make_output(std::move(statistics), DataType::kFloat32)};
  std::vector<Tensor> inputs{x};
  if (node.is_weight(scale) && node.is_weight(scale + 1) &&
      node.input(scale).shape == node.input(scale + 1).shape) {
    inputs.push_back(node.read_joined(op, scale, scale + 1));
  } else {
    for (const std::size_t i : {scale, scale + 1}) {
      if (node.is_data(i)) {
        inputs.push_back(node.read(op, i));
      }
    }
  }
  return node.emit(std::move(op), inputs);
}

Tensor activate(OnnxNode& node, Tensor x) {
  const std::string_view name = text_attribute(node.proto(), "activation");
  const Operator* activation = name.empty() ? nullptr : find_operator("", name);
  if (activation == nullptr) {
    return x;
  }
  Op op = node.make_op(activation->kind.empty() ? kind_of(name) : std::string(activation->kind),
                       "activation");
  op.shape = {elements(node.result())};
  op.flops = product({activation->flops, op.shape[0]});
  op.outputs = {node.result()};
  return node.emit(std::move(op), {x});
}

Op convolution(OnnxNode& node, std::size_t filters) {
  const Output& x = node.input(0);
  const Output& w = node.input(filters);
  Op op = node.make_op("conv");
  operators::count(op, "conv", conv_attributes(node.proto(), x.shape, w.shape), {x, w},
                   node.result());
  return op;
}

void conv(OnnxNode& node, const Operator&) {
  node.give(0, emit_filters(node, convolution(node, 1), 1, 2));
}

void conv_transpose(OnnxNode& node, const Operator&) {
  const Output x = node.input(0);
  const Output w = node.input(1);
  Op op = node.make_op("conv_transpose");
  operators::count(op, "conv_transpose", conv_transpose_attributes(node.proto(), x.shape, w.shape),
                   {x, w}, node.result());
  node.give(0, emit_filters(node, std::move(op), 1, 2));
}

void gemm(OnnxNode& node, const Operator& row) {
  const bool is_transposed = integer_attribute(node.proto(), "transA", 0) != 0;
  const Shape& left = node.input(0).shape;
  const Shape& result = node.result().shape;
  Op op = node.make_op("matmul");
  op.shape = {result[0], result[1], left[is_transposed ? 0 : 1]};
  op.flops = product({2, product(op.shape)});
  op.outputs = {node.result()};
  const Tensor a = node.read(op, 0);
  const Tensor b = node.read(op, 1);
  Tensor y = node.emit(std::move(op), {a, b});
  if (node.is_data(2)) {
    y = add_side(node, y, 2, result);
  }
  if (row.op_type == "FusedGemm") {
    y = activate(node, y);
  }
  node.give(0, y);
}

Op matrix_product(OnnxNode& node, Shape left, Shape right, const Shape& result) {
  if (left.size() == 1) {
    left.insert(left.begin(), 1);
  }
  if (right.size() == 1) {
    right.push_back(1);
  }
  const std::int64_t k = left.back();
  const std::int64_t n = right.back();
  const bool is_matrix = rows_of(right) == k;  // no batch of right sides
  Op op = node.make_op(is_matrix ? "matmul" : "batch_matmul");
  if (is_matrix) {
    op.shape = {rows_of(left), n, k};
  } else {
    const std::int64_t m = left[left.size() - 2];
    const auto per_product = product({m, n});
    op.shape = {per_product == 0 ? 0 : product(result) / per_product, m, n, k};
  }
  op.flops = product({2, product(op.shape)});
  return op;
}

void matmul(OnnxNode& node, const Operator&) {
  Op op = matrix_product(node, node.input(0).shape, node.input(1).shape, node.result().shape);
  const Tensor a = node.read(op, 0);
  const Tensor b = node.read(op, 1);
  node.emit_results(std::move(op), {{a, b}});
}

// As ModelBuilder::batch_norm(): scale and offset are one variable, the moving statistics belong to
// the op.
void batch_norm(OnnxNode& node, const Operator& row) {
  const Output x = node.input(0);
  Op op = node.make_op(row.kind);
  // A vector has one channel.
  const bool has_channels = x.shape.size() > 1;
  const std::int64_t channels = has_channels ? x.shape[1] : 1;
  op.shape = {x.shape[0], channels, product(std::span(x.shape).subspan(has_channels ? 2 : 1))};
  op.flops = product({row.flops, elements(x)});
  op.persistent_bytes = sum({node.input(3).bytes, node.input(4).bytes});
  op.bytes_read = sum({x.bytes, op.persistent_bytes});
  op.bytes_written = op.persistent_bytes;
  const Tensor maps = node.read(op, 0);
  node.give(0, emit_norm(node, std::move(op), maps, 1, {2, channels}));
}

void pool(OnnxNode& node, const Operator& row) {
  const Output x = node.input(0);
  if (x.shape.size() < 3) {
    return node.pass_on();
  }
  Op op = node.make_op(row.kind);
  operators::count(op, row.kind, pool_attributes(node.proto(), x.shape), {x}, node.result());
  const Tensor maps = node.read(op, 0);
  node.emit_results(std::move(op), {{maps}});
}

// A model that is trained ends in the logits, not in what softmax makes of them.
void softmax(OnnxNode& node, const Operator& row) {
  if (node.is_trained_result()) {
    return node.pass_on();
  }
  const Shape& x = node.input(0).shape;
  const auto rank = std::ssize(x);
  // Before opset 13 all dimensions from the axis on are one row.
  const bool flattens = node.opset() < 13;
  const auto axis = integer_attribute(node.proto(), "axis", flattens ? 1 : -1);
  const auto place =
      static_cast<std::size_t>(std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
  const std::int64_t columns = flattens           ? product(std::span(x).subspan(place))
                               : place < x.size() ? x[place]
                                                  : 1;
  Op op = node.make_op(kind_for(node, row));
  op.shape = {columns == 0 ? 0 : elements(node.input(0)) / columns, columns};
  op.flops = product({row.flops, elements(node.input(0))});
  const Tensor tensor = node.read(op, 0);
  node.emit_results(std::move(op), {{tensor}});
}

// Logits of yes or no alike.
void sigmoid(OnnxNode& node, const Operator& row) {
  if (node.is_trained_result()) {
    return node.pass_on();
  }
  elementwise(node, row);
}

// As ModelBuilder::layer_norm() and rms_norm(): scale and offset are one variable.
void layer_norm(OnnxNode& node, const Operator& row) {
  const Shape& x = node.input(0).shape;
  const auto axis = integer_attribute(node.proto(), "axis", -1);
  const auto place = static_cast<std::size_t>(
      std::clamp<std::int64_t>(axis < 0 ? axis + std::ssize(x) : axis, 0, std::ssize(x)));
  const std::int64_t columns = product(std::span(x).subspan(place));
  const std::int64_t rows = columns == 0 ? 0 : elements(node.input(0)) / columns;
  Op op = node.make_op(row.kind);
  op.shape = {rows, columns};
  op.flops = product({row.flops, elements(node.input(0))});
  const Tensor tensor = node.read(op, 0);
  node.give(0, emit_norm(node, std::move(op), tensor, 1, {rows, row.kind == "rms_norm" ? 1 : 2}));
}

// Statistics are those of groups of channels, in InstanceNormalization of each one.
void group_norm(OnnxNode& node, const Operator& row) {
  const Shape& x = node.input(0).shape;
  const auto groups = integer_attribute(node.proto(), "num_groups", x.size() > 1 ? x[1] : 1);
  const std::int64_t rows = x.empty() ? 1 : product({x[0], groups});
  Op op = node.make_op(row.kind);
  op.shape = {rows, rows == 0 ? 0 : elements(node.input(0)) / rows};
  op.flops = product({row.flops, elements(node.input(0))});
  const Tensor maps = node.read(op, 0);
  node.give(0, emit_norm(node, std::move(op), maps, 1, {rows, 2}));
}

// A number is divided by a power of the sum of the squares of its neighbours' in other channels.
void local_response_norm(OnnxNode& node, const Operator& row) {
  const auto size = integer_attribute(node.proto(), "size", 1);
  const auto count = elements(node.input(0));
  emit_plain(node, row.kind, {count}, product({sum({size, row.flops}), count}));
}

// The matrix products of all steps, x [T, N, I], W [directions, gates H, I], R [.., gates H, H],
// and what each gate and state takes beside them. The last output is the gates, for the gradient.
void recurrent(OnnxNode& node, const Operator& row) {
  const Shape& x = node.input(0).shape;
  const Shape& recurrence = node.input(2).shape;
  const std::int64_t directions = recurrence[0];
  const std::int64_t hidden = recurrence[2];
  const std::int64_t steps = product({x[0], x[1]});
  Op op = node.make_op(kind_for(node, row));
  op.shape = {x[0], x[1], x[2], hidden, directions};
  op.flops = sum({product({2, steps, elements(node.input(1))}),
                  product({2, steps, elements(node.input(2))}),
                  product({row.flops, steps, directions, hidden})});
  const auto inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs,
                    make_output({steps, directions, recurrence[1]}, node.input(0).type));
}

void cross_entropy(OnnxNode& node, const Operator& row) {
  const Output x = node.input(0);
  if (x.shape.size() != 2 || node.has_input(2) || !node.result().shape.empty()) {
    return per_input(node, row);
  }
  Op op = node.make_op("softmax_cross_entropy");
  op.shape = x.shape;
  op.flops = sum({product({5, elements(x)}), product({2, x.shape[0]})});
  op.outputs = {node.result(), make_output(x.shape, x.type)};
  const Tensor logits = node.read(op, 0);
  const Tensor labels = node.read(op, 1);
  node.give(0, node.emit(std::move(op), {logits, labels}));
}

}  // namespace emplace::onnx_model::convert

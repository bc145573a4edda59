#include "../assemble.hpp"
#include "conversions.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace emplace::onnx_model {
namespace {

// The single value of a list whose entries are all alike; `fallback` if the list is empty, nothing
// if they differ.
std::optional<std::int64_t> same(const Shape& values, std::int64_t fallback) {
  if (values.empty()) {
    return fallback;
  }
  return std::ranges::all_of(values, [&](auto value) { return value == values[0]; })
             ? std::optional(values[0])
             : std::nullopt;
}

// How far a window over maps moves, down and across.
Shape strides_of(const Node& node) {
  const Shape strides = integers_attribute(node.proto(), "strides");
  return strides.empty() ? Shape{1, 1} : strides;
}

std::int64_t rows_of(const Shape& shape) {
  return product(std::span(shape.data(), shape.size() - 1));
}

// Adds a vector, input `index`, to `x`; `shape` says how, as for the op kind.
Tensor bias_add(Node& node, Tensor x, const Output& value, std::size_t index, Shape shape) {
  Op op = node.make_op("bias_add", "bias_add");
  op.shape = std::move(shape);
  op.flops = elements(value);
  op.outputs = {value};
  const Tensor bias = node.read(op, index);
  return node.emit(std::move(op), {x, bias});
}

void pool_window(Node& node, std::string_view kind, const Shape& window, std::int64_t stride,
                 std::int64_t flops) {
  const Shape& x = node.input(0).shape;
  const Shape& result = node.result().shape;
  Op op = node.make_op(kind);
  op.shape = {x[0], x[1], x[2], x[3], window[0], window[1], stride, result[2], result[3]};
  op.flops = flops;
  const Tensor maps = node.read(op, 0);
  node.emit_results(std::move(op), {{maps}});
}

// Adds an op that reads maps and filters, and the sum with a bias for each channel if there is one.
void emit_filters(Node& node, Op op) {
  const Shape& result = node.result().shape;
  op.outputs = {node.result()};
  const Tensor maps = node.read(op, 0);
  const Tensor weights = node.read(op, 1);
  Tensor y = node.emit(std::move(op), {maps, weights});
  if (node.has_input(2) && result.size() > 1) {
    y = bias_add(node, y, node.result(), 2,
                 {result[0], result[1], product(std::span(result).subspan(2))});
  }
  node.give(0, y);
}

}  // namespace

void conv(Node& node, const Conversion&) {
  const Shape& x = node.input(0).shape;
  const Shape& filters = node.input(1).shape;  // [K, C / groups, R, S]
  const Shape& result = node.result().shape;
  if (filters.size() != x.size() || result.size() != x.size()) {
    throw Error(ErrorCode::kFormat, fmt::format("expected filters of {} dimensions, found {}",
                                                x.size(), filters.size()));
  }
  const auto groups = integer_attribute(node.proto(), "group", 1);
  const auto dilation = same(integers_attribute(node.proto(), "dilations"), 1);
  const Shape strides = strides_of(node);
  const bool moves_window = x.size() == 4 && strides.size() == 2;
  Op op = node.make_op(groups == 1 ? "conv" : "grouped_conv");
  op.shape = result;
  if (moves_window && groups == 1 && dilation) {
    op.kind = "conv2d";
    op.shape = {x[0],       x[1],       x[2],       x[3],      filters[0], filters[2],
                filters[3], strides[0], strides[1], *dilation, result[2],  result[3]};
  } else if (moves_window && groups == x[1] && filters[0] == x[1] && dilation == 1) {
    op.kind = "depthwise_conv2d";
    op.shape = {x[0],       x[1],       x[2],       x[3],      filters[2],
                filters[3], strides[0], strides[1], result[2], result[3]};
  }
  op.flops =
      product({2, product(result), product(filters) / std::max<std::int64_t>(filters[0], 1)});
  emit_filters(node, std::move(op));
}

// Each number of the input is multiplied with the filters of its channel, [C, K / groups, R, S].
void conv_transpose(Node& node, const Conversion& row) {
  const Shape& x = node.input(0).shape;
  const Shape& filters = node.input(1).shape;
  const Shape& result = node.result().shape;
  const auto dilation = same(integers_attribute(node.proto(), "dilations"), 1);
  const Shape strides = strides_of(node);
  Op op = node.make_op(kind_for(node, row));
  op.shape = result;
  if (x.size() == 4 && result.size() == 4 && filters.size() == 4 && strides.size() == 2 &&
      dilation && integer_attribute(node.proto(), "group", 1) == 1) {
    op.kind = "conv2d_transpose";
    op.shape = {result[0],  result[1],  result[2],  result[3], x[1], filters[2],
                filters[3], strides[0], strides[1], *dilation, x[2], x[3]};
  }
  op.flops = product({2, elements(node.input(0)), product(std::span(filters).subspan(1))});
  emit_filters(node, std::move(op));
}

void gemm(Node& node, const Conversion&) {
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
    if (product(node.input(2).shape) != result[1] || result[1] == 0) {
      throw Error(ErrorCode::kUnsupported,
                  "expected C to be a vector as long as a row of the result");
    }
    y = bias_add(node, y, node.result(), 2, result);
  }
  node.give(0, y);
}

void matmul(Node& node, const Conversion&) {
  Shape left = node.input(0).shape;
  Shape right = node.input(1).shape;
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
    op.shape = {per_product == 0 ? 0 : elements(node.result()) / per_product, m, n, k};
  }
  op.flops = product({2, product(op.shape)});
  const Tensor a = node.read(op, 0);
  const Tensor b = node.read(op, 1);
  node.emit_results(std::move(op), {{a, b}});
}

// As ModelBuilder::batch_norm(): scale and offset are one variable, the moving statistics belong to
// the op.
void batch_norm(Node& node, const Conversion& row) {
  const Output x = node.input(0);
  if (!node.is_weight(1) || !node.is_weight(2) || x.shape.size() < 2) {
    return per_input(node, row);
  }
  Op op = node.make_op("batch_norm");
  const std::int64_t channels = x.shape[1];
  op.shape = {x.shape[0], channels, product(std::span(x.shape).subspan(2))};
  op.flops = product({row.flops, elements(x)});
  op.persistent_bytes = sum({node.input(3).bytes, node.input(4).bytes});
  op.bytes_read = sum({x.bytes, op.persistent_bytes});
  op.bytes_written = op.persistent_bytes;
  op.outputs = {node.result(), make_output({2, channels}, DataType::kFloat32)};
  const Tensor maps = node.read(op, 0);
  const Tensor scale_offset = node.read_joined(op, 1, 2);
  node.give(0, node.emit(std::move(op), {maps, scale_offset}));
}

// `row.flops` is what a window takes less than one operation for each of its numbers.
void pool(Node& node, const Conversion& row) {
  const Shape window = integers_attribute(node.proto(), "kernel_shape");
  const auto stride = same(integers_attribute(node.proto(), "strides"), 1);
  const auto dilation = same(integers_attribute(node.proto(), "dilations"), 1);
  const auto flops = product({elements(node.result()), product(window) - row.flops});
  if (node.input(0).shape.size() == 4 && window.size() == 2 && stride && dilation == 1 &&
      node.proto().output_size() == 1) {
    pool_window(node, row.kind, window, *stride, flops);
  } else {
    emit_plain(node, kind_of(row.op_type), flops);
  }
}

void global_avg_pool(Node& node, const Conversion& row) {
  const Shape& x = node.input(0).shape;
  if (x.size() == 4) {
    pool_window(node, row.kind, {x[2], x[3]}, 1, elements(node.input(0)));
  } else {
    emit_plain(node, kind_of(row.op_type), elements(node.input(0)));
  }
}

void softmax(Node& node, const Conversion& row) {
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

// As ModelBuilder::layer_norm(), where scale and offset are weights.
void layer_norm(Node& node, const Conversion& row) {
  const auto columns = elements(node.input(1));
  Op op = node.make_op(kind_for(node, row));
  op.shape = {columns == 0 ? 0 : elements(node.input(0)) / columns, columns};
  op.flops = product({row.flops, elements(node.input(0))});
  if (!node.has_input(2) || !node.is_weight(1) || !node.is_weight(2) ||
      node.proto().output_size() != 1) {
    const auto inputs = node.read_data(op);
    node.emit_results(std::move(op), inputs);
    return;
  }
  op.outputs = {node.result(), make_output({op.shape[0], 2}, DataType::kFloat32)};
  const Tensor x = node.read(op, 0);
  const Tensor scale_offset = node.read_joined(op, 1, 2);
  node.give(0, node.emit(std::move(op), {x, scale_offset}));
}

// The matrix products of all steps: x [T, N, I], W [directions, gates H, I], R [.., gates H, H].
void recurrent(Node& node, const Conversion& row) {
  const Shape& x = node.input(0).shape;
  const auto weights = sum({elements(node.input(1)), elements(node.input(2))});
  emit_plain(node, kind_for(node, row), product({2, x[0], x[1], weights}));
}

void cross_entropy(Node& node, const Conversion& row) {
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

}  // namespace emplace::onnx_model

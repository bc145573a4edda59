// Quantized layers, and those that ONNX Runtime has fused: the ops that they are made of. Scales
// and zeros of quantized numbers are settings.

#include "../assemble.hpp"
#include "conversions.hpp"

#include <emplace/graphs/error.hpp>

#include <algorithm>
#include <utility>

namespace emplace::onnx_model::convert {
namespace {

Tensor emit_sum(Node& node, Tensor a, Tensor b, std::string_view suffix) {
  Op op = node.make_op("add", suffix);
  op.shape = {elements(node.result())};
  op.flops = op.shape[0];
  op.outputs = {node.result()};
  return node.emit(std::move(op), {a, b});
}

Tensor emit_row_bias(Node& node, Tensor x, std::size_t index) {
  const std::int64_t columns = elements(node.input(index));
  const std::int64_t count = elements(node.result());
  return bias_add(node, x, node.result(), index, {columns == 0 ? 0 : count / columns, columns});
}

Op start_norm(Node& node, const Operator& row) {
  const std::int64_t columns = node.result().shape.back();
  const std::int64_t count = elements(node.result());
  Op op = node.make_op(row.kind);
  op.shape = {columns == 0 ? 0 : count / columns, columns};
  op.flops = product({row.flops, count});
  return op;
}

// Scores of each query with each key, their softmax, and the weighted sums of values.
Op start_attention(Node& node, std::int64_t batch, std::int64_t queries, std::int64_t keys,
                   std::int64_t width, std::int64_t value_width) {
  const auto heads = std::max<std::int64_t>(integer_attribute(node.proto(), "num_heads", 1), 1);
  Op op = node.make_op("attention");
  op.shape = {batch, heads, queries, keys, width / heads, value_width / heads};
  op.flops = sum({product({2, batch, queries, keys, width}),
                  product({2, batch, queries, keys, value_width}),
                  product({5, batch, heads, queries, keys})});
  op.outputs = {node.result()};
  return op;
}

}  // namespace

void quantized_conv(Node& node, const Operator& row) {
  const bool has_scales = row.op_type == "QLinearConv";
  const std::size_t filters = has_scales ? 3 : 1;
  Shape result = node.result().shape;
  if (result.size() == 3) {
    result.insert(result.begin() + 2, 1);
  }
  Op op = convolution(node, node.input(0).shape, node.input(filters).shape, result);
  node.give(0, emit_filters(node, std::move(op), filters, has_scales ? 8 : node.num_inputs()));
}

void quantized_matmul(Node& node, const Operator& row) {
  const std::size_t right = row.op_type == "QLinearMatMul" ? 3 : 1;
  Op op = matrix_product(node, node.input(0).shape, node.input(right).shape, node.result().shape);
  op.outputs = {node.result()};
  const Tensor a = node.read(op, 0);
  const Tensor b = node.read(op, right);
  node.give(0, node.emit(std::move(op), {a, b}));
}

// Convolution, bias, a sum with a fourth input, and an activation.
void fused_conv(Node& node, const Operator&) {
  Shape result = node.result().shape;
  if (result.size() == 3) {
    result.insert(result.begin() + 2, 1);
  }
  Op op = convolution(node, node.input(0).shape, node.input(1).shape, result);
  Tensor y = emit_filters(node, std::move(op), 1, 2);
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

void fused_matmul(Node& node, const Operator&) {
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

void bias_gelu(Node& node, const Operator& row) {
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

// The projections of queries, keys and values are one product.
void attention(Node& node, const Operator&) {
  const Shape& x = node.input(0).shape;
  const Shape& weights = node.input(1).shape;
  const std::int64_t value_width = node.result().shape[2];
  const std::int64_t width = (weights[1] - value_width) / 2;
  const Output joined = make_output({x[0], x[1], weights[1]}, node.result().type);
  Op projection = node.make_op("matmul", "projection");
  projection.shape = {product({x[0], x[1]}), weights[1], weights[0]};
  projection.flops = product({2, product(projection.shape)});
  projection.outputs = {joined};
  const Tensor a = node.read(projection, 0);
  const Tensor b = node.read(projection, 1);
  Tensor y = node.emit(std::move(projection), {a, b});
  if (node.is_data(2)) {
    y = bias_add(node, y, joined, 2, {product({x[0], x[1]}), weights[1]});
  }
  Op op = start_attention(node, x[0], x[1], x[1], width, value_width);
  node.give(0, node.emit(std::move(op), {y}));
}

void multi_head_attention(Node& node, const Operator&) {
  const Shape& query = node.input(0).shape;
  Op op = start_attention(node, query[0], query[1], node.input(1).shape[1], query[2],
                          node.input(2).shape[2]);
  const Tensor q = node.read(op, 0);
  const Tensor k = node.read(op, 1);
  const Tensor v = node.read(op, 2);
  node.give(0, node.emit(std::move(op), {q, k, v}));
}

// The inputs are x, what is added to it, scale and offset.
void skip_layer_norm(Node& node, const Operator& row) {
  Op op = start_norm(node, row);
  const Tensor x = node.read(op, 0);
  const Tensor skip = node.read(op, 1);
  const Tensor joined = emit_sum(node, x, skip, "add");
  const Shape statistics{op.shape[0], row.kind == "rms_norm" ? 1 : 2};
  node.give(0, emit_norm(node, std::move(op), joined, 2, statistics));
  node.give(3, joined);
}

// The inputs are ids, segments, the tables of words, positions and segments, scale and offset.
void embed_layer_norm(Node& node, const Operator& row) {
  const auto look_up = [&](std::size_t table, std::string_view suffix) {
    const Shape& shape = node.input(table).shape;
    Op lookup = node.make_op("embedding", suffix);
    lookup.shape = {elements(node.input(0)), shape.at(0), shape.at(1)};
    lookup.bytes_read = node.result().bytes - node.input(table).bytes;
    lookup.outputs = {node.result()};
    const Tensor rows = node.read(lookup, table);
    const Tensor ids = node.read(lookup, 0);
    return node.emit(std::move(lookup), {rows, ids});
  };
  Tensor total = emit_sum(node, look_up(2, "words"), look_up(3, "positions"), "add");
  if (node.has_input(4)) {
    total = emit_sum(node, total, look_up(4, "segments"), "add_segments");
  }
  Op op = start_norm(node, row);
  const Shape statistics{op.shape[0], 2};
  node.give(0, emit_norm(node, std::move(op), total, 5, statistics));
  node.give(2, total);
}

}  // namespace emplace::onnx_model::convert

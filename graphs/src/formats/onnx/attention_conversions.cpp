// Attention and what stands around it in transformers, as ONNX and ONNX Runtime have it: the ops
// that each layer is made of.

#include "attention.hpp"
#include "conversions.hpp"
#include "model/assemble.hpp"

#include <emplace/base/error.hpp>

#include <utility>
#include <vector>

namespace emplace::onnx_model::convert {
namespace {

Tensor emit_sum(OnnxNode& node, Tensor a, Tensor b, std::string_view suffix) {
  Op op = node.make_op("add", suffix);
  op.shape = {elements(node.result())};
  op.flops = op.shape[0];
  op.outputs = {node.result()};
  return node.emit(std::move(op), {a, b});
}

Op start_norm(OnnxNode& node, const Operator& row) {
  const std::int64_t columns = node.result().shape.back();
  const std::int64_t count = elements(node.result());
  Op op = node.make_op(row.kind);
  op.shape = {columns == 0 ? 0 : count / columns, columns};
  op.flops = product({row.flops, count});
  return op;
}

// Scores of each query with each key, their softmax, and the weighted sums of values.
Op start_attention(OnnxNode& node, const AttentionSizes& sizes) {
  Op op = node.make_op("attention");
  op.shape = {sizes.batch, sizes.heads, sizes.queries, sizes.keys, sizes.width, sizes.value_width};
  const std::int64_t scores = product({sizes.batch, sizes.heads, sizes.queries, sizes.keys});
  op.flops = sum({product({2, scores, sizes.width}), product({2, scores, sizes.value_width}),
                  product({5, scores})});
  return op;
}

// A number of each query and key is rotated: a pair takes four products, a sum and a difference.
std::int64_t rotation_flops(const AttentionSizes& sizes) {
  return product(
      {3, sizes.batch, sizes.width,
       sum({product({sizes.heads, sizes.queries}), product({sizes.kv_heads, sizes.new_keys})})});
}

bool rotates(const OnnxNode& node) { return integer_attribute(node.proto(), "do_rotary", 0) != 0; }

void emit_attention(OnnxNode& node, Op op) {
  const std::vector<Tensor> inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

}  // namespace

// The projections of queries, keys and values are one product.
void attention(OnnxNode& node, const Operator&) {
  const AttentionSizes sizes = projected_attention_sizes(node.operands());
  const Shape& x = node.input(0).shape;
  const Shape& weights = node.input(1).shape;
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
  Op op = start_attention(node, sizes);
  op.flops = sum({op.flops, rotates(node) ? rotation_flops(sizes) : 0});
  std::vector<Tensor> inputs{y};
  for (const std::size_t past : {std::size_t{4}, std::size_t{8}}) {
    if (node.is_data(past) && node.input(past).shape.size() == 5) {
      inputs.push_back(node.read(op, past));
    }
  }
  node.emit_results(std::move(op), inputs);
}

void standard_attention(OnnxNode& node, const Operator&) {
  emit_attention(node, start_attention(node, standard_attention_sizes(node.operands())));
}

// The bias is added to queries, keys and values.
void multi_head_attention(OnnxNode& node, const Operator& row) {
  const bool is_masked = row.op_type == "DecoderMaskedMultiHeadAttention";
  const AttentionSizes sizes = is_masked ? masked_attention_sizes(node.operands())
                                         : multi_head_attention_sizes(node.operands());
  Op op = start_attention(node, sizes);
  if (node.has_input(is_masked ? 10 : 3)) {
    const std::int64_t keys = product({sizes.new_keys, sum({sizes.width, sizes.value_width})});
    op.flops = sum({op.flops, product({sizes.batch, sizes.heads,
                                       sum({product({sizes.queries, sizes.width}), keys})})});
  }
  emit_attention(node, std::move(op));
}

void group_query_attention(OnnxNode& node, const Operator&) {
  const AttentionSizes sizes = group_query_attention_sizes(node.operands());
  Op op = start_attention(node, sizes);
  op.flops = sum({op.flops, rotates(node) ? rotation_flops(sizes) : 0});
  emit_attention(node, std::move(op));
}

// Tables of cosines and sines, positions and the numbers themselves. Of heads packed side by side,
// or [batch, heads, positions, width].
void rotary_embedding(OnnxNode& node, const Operator&) {
  const Shape& x = node.input(0).shape;
  const std::int64_t positions = x.size() < 2 ? 1 : x[x.size() - 2];
  const std::int64_t width = x.empty() ? 1 : x.back();
  const std::int64_t row = product({positions, width});
  Op op = node.make_op("rotary_embedding");
  op.shape = {row == 0 ? 0 : elements(node.input(0)) / row, positions, width};
  op.flops = product({3, elements(node.input(0))});
  emit_attention(node, std::move(op));
}

// The inputs are x, what is added to it, scale, offset where means are subtracted, and a bias of x.
void skip_layer_norm(OnnxNode& node, const Operator& row) {
  const bool has_offset = row.kind != "rms_norm";
  const std::size_t bias = has_offset ? 4 : 3;
  Op op = start_norm(node, row);
  Tensor x = node.read(op, 0);
  if (node.is_data(bias)) {
    x = bias_add(node, x, node.result(), bias, op.shape);
  }
  const Tensor skip = node.read(op, 1);
  const Tensor joined = emit_sum(node, x, skip, "add");
  const Shape statistics{op.shape[0], has_offset ? 2 : 1};
  if (has_offset) {
    node.give(0, emit_norm(node, std::move(op), joined, 2, statistics));
  } else {
    op.outputs = {node.result(), make_output(statistics, DataType::kFloat32)};
    const Tensor scale = node.read(op, 2);
    node.give(0, node.emit(std::move(op), {joined, scale}));
  }
  node.give(3, joined);
}

// The inputs are ids, segments, the tables of words, positions and segments, scale and offset.
void embed_layer_norm(OnnxNode& node, const Operator& row) {
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

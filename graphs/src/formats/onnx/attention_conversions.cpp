// Attention and what stands around it in transformers, as ONNX and ONNX Runtime have it: the ops
// that each layer is made of.

#include "attention.hpp"
#include "conversions.hpp"
#include "model/assemble.hpp"
#include "model/strides.hpp"

#include <utility>
#include <vector>

namespace emplace::onnx_model::convert {
namespace {

Tensor add_sum(OnnxNode& node, Source a, Source b, std::string_view suffix) {
  return node.add("add", {.suffix = suffix, .inputs = {a, b}, .results = {node.result()}});
}

// What is added to the scores, and to queries, keys and values before, is not counted.
void add_attention(OnnxNode& node, const AttentionSizes& sizes, bool is_causal,
                   std::vector<Source> inputs = {}) {
  node.add("attention", {.attributes = AttentionAttributes{.is_causal = is_causal},
                         .inputs = std::move(inputs),
                         .seen = sizes.heads_apart(node.result().type)});
}

// Rotates so many heads in `x`, which has others beside them where they are packed.
Tensor rotate(OnnxNode& node, Source x, const Output& packed, Shape heads,
              std::string_view suffix) {
  return node.add("rotary_embedding", {.suffix = suffix,
                                       .inputs = {x},
                                       .seen = {make_output(std::move(heads), packed.type)},
                                       .results = {packed}});
}

}  // namespace

// The projections of queries, keys and values are one product.
void attention(OnnxNode& node, const Operator&) {
  const AttentionSizes sizes = projected_attention_sizes(node);
  const Output joined =
      make_output({sizes.batch, sizes.queries, node.shape(1)[1]}, node.result().type);
  Tensor y = node.add("matmul", {.suffix = "projection", .inputs = {0, 1}, .results = {joined}});
  if (node.is_data(2)) {
    y = add_bias(node, y, 2, joined);
  }
  if (node.flag("do_rotary")) {
    y = rotate(node, y, joined, {sizes.batch, 2 * sizes.heads, sizes.queries, sizes.width},
               "rotation");
  }
  std::vector<Source> inputs{y};
  for (const int past : {4, 8}) {
    const auto index = static_cast<std::size_t>(past);
    if (node.is_data(index) && node.shape(index).size() == 5) {
      inputs.emplace_back(past);
    }
  }
  add_attention(node, sizes, node.flag("unidirectional"), std::move(inputs));
}

// The result lies in memory as the queries do.
void standard_attention(OnnxNode& node, const Operator&) {
  add_attention(node, standard_attention_sizes(node), node.flag("is_causal"));
  if (node.shape(0).size() == 4) {
    node.set_strides(0, dense_strides(node.result().shape, node.strides(0)));
  }
}

void multi_head_attention(OnnxNode& node, const Operator&) {
  add_attention(node, multi_head_attention_sizes(node), node.flag("unidirectional"));
}

void masked_attention(OnnxNode& node, const Operator&) {
  add_attention(node, masked_attention_sizes(node), true);
}

// Queries and keys may be rotated; the tables of cosines and sines are inputs 7 and 8.
void group_query_attention(OnnxNode& node, const Operator&) {
  const AttentionSizes sizes = group_query_attention_sizes(node);
  if (!node.flag("do_rotary")) {
    return add_attention(node, sizes, true);
  }
  const bool is_packed = !node.has_input(1);
  const std::int64_t in_queries = sizes.heads + (is_packed ? sizes.kv_heads : 0);
  std::vector<Source> inputs{rotate(
      node, 0, node.input(0), {sizes.batch, in_queries, sizes.queries, sizes.width}, "rotation")};
  if (!is_packed) {
    inputs.emplace_back(rotate(node, 1, node.input(1),
                               {sizes.batch, sizes.kv_heads, sizes.new_keys, sizes.width},
                               "rotation_of_keys"));
  }
  for (int i = 2; i < node.node().input_size(); ++i) {
    if (i != 7 && i != 8 && node.is_data(static_cast<std::size_t>(i))) {
      inputs.emplace_back(i);
    }
  }
  add_attention(node, sizes, true, std::move(inputs));
}

// The inputs are x, what is added to it, scale, offset where means are subtracted, and a bias of x.
void skip_layer_norm(OnnxNode& node, const Operator& row) {
  const bool has_offset = row.kind != "rms_norm";
  const int bias = has_offset ? 4 : 3;
  Source x = 0;
  if (node.is_data(static_cast<std::size_t>(bias))) {
    x = add_bias(node, x, bias, node.result());
  }
  const Tensor joined = add_sum(node, x, 1, "add");
  node.give(0, normalize(node, row.kind, AxisAttributes{}, joined, 2));
  node.give(3, joined);
}

// The inputs are ids, segments, the tables of words, positions and segments, scale and offset.
void embed_layer_norm(OnnxNode& node, const Operator& row) {
  const auto look_up = [&](int table, std::string_view suffix) {
    return node.add("embedding",
                    {.suffix = suffix, .inputs = {table, 0}, .results = {node.result()}});
  };
  const Tensor words = look_up(2, "words");
  Tensor total = add_sum(node, words, look_up(3, "positions"), "add");
  if (node.has_input(4)) {
    total = add_sum(node, total, look_up(4, "segments"), "add_segments");
  }
  node.give(0, normalize(node, row.kind, AxisAttributes{}, total, 5));
  node.give(2, total);
}

}  // namespace emplace::onnx_model::convert

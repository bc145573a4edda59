// Shapes of attention and of what stands around it in transformers.

#include "attention.hpp"
#include "library_attributes.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <fmt/format.h>

#include <array>

namespace emplace::onnx_model::shapes {
namespace {

// The results, one position after another, heads side by side.
void give_rows(Inference& node, const AttentionSizes& sizes, DataType type) {
  node.give({sizes.batch, sizes.queries, product({sizes.heads, sizes.value_width})}, type);
}

// Keys and values, those of this step behind the earlier ones.
void give_caches(Inference& node, const AttentionSizes& sizes, DataType type) {
  node.give({sizes.batch, sizes.kv_heads, sizes.cached, sizes.width}, type);
  node.give({sizes.batch, sizes.kv_heads, sizes.cached, sizes.value_width}, type);
}

}  // namespace

// x is [B, S, width], the weights are [width, query + key + value].
void attention(Inference& node) {
  const AttentionSizes sizes = projected_attention_sizes(node);
  const DataType type = node.type(0) == DataType::kInt8 ? node.type(3) : node.type(0);
  give_rows(node, sizes, type);
  node.give({2, sizes.batch, sizes.heads, sizes.cached, sizes.width}, type);
}

// Results have the ranks of the queries, heads packed or apart; the scores come last.
void standard_attention(Inference& node) {
  const AttentionSizes sizes = standard_attention_sizes(node);
  if (node.shape(0).size() == 4) {
    node.give({sizes.batch, sizes.heads, sizes.queries, sizes.value_width}, node.type(0));
  } else {
    give_rows(node, sizes, node.type(0));
  }
  give_caches(node, sizes, node.type(1));
  node.give({sizes.batch, sizes.heads, sizes.queries, sizes.keys}, node.type(0));
}

void multi_head_attention(Inference& node) {
  const AttentionSizes sizes = multi_head_attention_sizes(node);
  give_rows(node, sizes, node.type(0));
  give_caches(node, sizes, node.type(0));
}

void masked_attention(Inference& node) {
  const AttentionSizes sizes = masked_attention_sizes(node);
  give_rows(node, sizes, node.type(0));
  give_caches(node, sizes, node.type(0));
}

void group_query_attention(Inference& node) {
  const AttentionSizes sizes = group_query_attention_sizes(node);
  give_rows(node, sizes, node.type(0));
  give_caches(node, sizes, node.type(0));
}

// The inputs are ids, segments, and the tables of words, positions and segments.
void embed_layer_norm(Inference& node) {
  const Shape& ids = node.shape_of_rank(0, 2);
  const Shape shape{ids[0], ids[1], node.shape_of_rank(2, 2)[1]};
  node.shape_of_rank(3, 2);
  if (node.has_input(4)) {
    node.shape_of_rank(4, 2);
  }
  node.give(shape, node.type(2));
  node.give({ids[0]}, DataType::kInt32);
  node.give(shape, node.type(2));
}

// The results are the rows, their mean and deviation, and the sum of which they are made.
void skip_norm(Inference& node) {
  const Shape& x = node.shape_of_rank(0, 1);
  Shape rows = x;
  rows.back() = 1;
  node.give(x, node.type(0));
  node.give(rows, DataType::kFloat32);
  node.give(std::move(rows), DataType::kFloat32);
  node.give(x, node.type(0));
}

// The result, and the sum that SkipGroupNorm normalizes.
void fused_group_norm(Inference& node) {
  node.give(node.shape_of_rank(0, 2), node.type(0));
  node.give(node.shape(0), node.type(0));
}

// Half of the columns are multiplied with the gelu of the others.
void split_gelu(Inference& node) {
  Shape shape = node.shape_of_rank(0, 1);
  shape.back() /= 2;
  node.give(std::move(shape), node.type(0));
}

// The right side is packed; attributes say that it is K x N.
void packed_matmul(Inference& node) {
  Shape shape = node.shape_of_rank(0, 1);
  const auto k = node.integer("K", 0);
  const auto n = node.integer("N", 0);
  if (shape.back() != k || n < 1) {
    fail_shape(fmt::format("rows of {} do not fit K {} and N {}", shape.back(), k, n));
  }
  shape.back() = n;
  node.give(std::move(shape), node.type(0));
}

// Rows of a table whose numbers are packed, several in a byte, and come out as real numbers.
void packed_gather(Inference& node) {
  Shape table = node.shape_of_rank(0, 1);
  const auto bits = node.integer("bits", 4);
  const std::size_t place = node.axis(0, table.size());
  // Bytes have as many numbers as fit; other types say their number themselves.
  if (node.is_bytes(0) && bits > 0 && bits < 8) {
    table.back() = product({table.back(), 8 / bits});
  }
  Shape shape(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(place));
  const Shape& indices = node.shape(1);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), table.begin() + static_cast<std::ptrdiff_t>(place) + 1, table.end());
  node.give(std::move(shape), node.type(2));
}

// The sides are inputs 0 and 3, each with its scale and zero; the result is quantized if it has a
// scale.
void quantized_gemm(Inference& node) {
  const auto y =
      operators::infer("matmul", attributes::sides(node), std::array{node.input(0), node.input(3)});
  node.give(y[0].shape, node.has_input(7) ? node.type(0) : node.type(1));
}

// Scores for the distance of each query and key; the inputs are a table [buckets, heads] and the
// numbers of queries and keys.
void position_bias(Inference& node) {
  const Shape queries = node.integers(1);
  const Shape keys = node.integers(2);
  if (queries.size() != 1 || keys.size() != 1) {
    fail_shape("expected one number of queries and one of keys");
  }
  node.give({1, node.shape_of_rank(0, 2)[1], queries[0], keys[0]}, node.type(0));
}

}  // namespace emplace::onnx_model::shapes

#include "attention.hpp"

#include "model/assemble.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace emplace::onnx_model {
namespace {

const Shape* shape_at(const NodeView& node, std::size_t index) {
  return node.has_input(index) ? &node.shape(index) : nullptr;
}

const Shape& expect_rank(const NodeView& node, std::size_t index, std::size_t rank) {
  const Shape* shape = shape_at(node, index);
  if (shape == nullptr || shape->size() != rank) {
    fail_shape(shape == nullptr ? fmt::format("expected an input {}", index + 1)
                                : fmt::format("expected {} dimensions of input {}, found [{}]",
                                              rank, index + 1, fmt::join(*shape, ", ")));
  }
  return *shape;
}

// The number of heads that an attribute tells, which must divide `width`.
std::int64_t heads_of(const NodeView& node, std::string_view name, std::int64_t width) {
  const auto heads = node.integer(name, 0);
  if (heads < 1 || width % heads != 0) {
    fail_shape(
        fmt::format("expected {} to be at least 1 and to divide {}, found {}", name, width, heads));
  }
  return heads;
}

// Earlier keys are [batch, heads, positions, width], in input `index`.
std::int64_t earlier_positions(const NodeView& node, std::size_t index) {
  return shape_at(node, index) == nullptr ? 0 : expect_rank(node, index, 4)[2];
}

// A number that an input holds, where it is known and there is one.
std::optional<std::int64_t> number_at(const NodeView& node, std::size_t index) {
  const Numbers* numbers = node.numbers(index);
  const auto integers = numbers != nullptr ? integers_of(*numbers) : std::nullopt;
  return integers && integers->size() == 1 && (*integers)[0] > 0 && (*integers)[0] <= kMaxExtent
             ? std::optional((*integers)[0])
             : std::nullopt;
}

// Keys or values, with heads packed or apart: [batch, positions, width], or
// [batch, heads, positions, width].
struct Heads {
  std::int64_t positions;
  std::int64_t width;  // of one head
};

Heads heads_in(const NodeView& node, std::size_t index, std::int64_t heads) {
  const Shape* shape = shape_at(node, index);
  if (shape != nullptr && shape->size() == 4) {
    return {(*shape)[2], (*shape)[3]};
  }
  const Shape& packed = expect_rank(node, index, 3);
  if (packed[2] % heads != 0) {
    fail_shape(
        fmt::format("input {}: {} numbers are not of {} heads", index + 1, packed[2], heads));
  }
  return {packed[1], packed[2] / heads};
}

// With the caches of `past`.
AttentionSizes with_cache(AttentionSizes sizes, std::int64_t past) {
  sizes.keys = past + sizes.new_keys;
  sizes.cached = sizes.keys;
  return sizes;
}

// Queries alone, or packed with keys and values as [batch, positions, heads, 3, width]; keys alone,
// or packed with values as [batch, positions, heads, 2, width].
AttentionSizes separate_sizes(const NodeView& node) {
  const Shape* query = shape_at(node, 0);
  if (query != nullptr && query->size() == 5) {
    const std::int64_t positions = (*query)[1];
    return {.batch = (*query)[0],
            .heads = (*query)[2],
            .kv_heads = (*query)[2],
            .queries = positions,
            .new_keys = positions,
            .width = (*query)[4],
            .value_width = (*query)[4]};
  }
  const Shape& packed = expect_rank(node, 0, 3);
  const std::int64_t heads = heads_of(node, "num_heads", packed[2]);
  const std::int64_t width = packed[2] / heads;
  AttentionSizes sizes{.batch = packed[0],
                       .heads = heads,
                       .kv_heads = heads,
                       .queries = packed[1],
                       .new_keys = packed[1],
                       .width = width,
                       .value_width = width};
  if (const Shape* key = shape_at(node, 1); key != nullptr && key->size() == 5) {
    sizes.new_keys = (*key)[1];
  } else {
    sizes.new_keys = heads_in(node, 1, heads).positions;
    sizes.value_width = heads_in(node, 2, heads).width;
  }
  return sizes;
}

}  // namespace

std::vector<Output> AttentionSizes::heads_apart(DataType type) const {
  return {make_output({batch, heads, queries, width}, type),
          make_output({batch, kv_heads, keys, width}, type),
          make_output({batch, kv_heads, keys, value_width}, type)};
}

AttentionSizes standard_attention_sizes(const NodeView& node) {
  const Shape* query = shape_at(node, 0);
  AttentionSizes sizes;
  if (query != nullptr && query->size() == 4) {
    sizes = {.batch = (*query)[0],
             .heads = (*query)[1],
             .kv_heads = expect_rank(node, 1, 4)[1],
             .queries = (*query)[2],
             .width = (*query)[3]};
  } else {
    const Shape& packed = expect_rank(node, 0, 3);
    sizes = {.batch = packed[0],
             .heads = heads_of(node, "q_num_heads", packed[2]),
             .kv_heads = heads_of(node, "kv_num_heads", expect_rank(node, 1, 3)[2]),
             .queries = packed[1]};
    sizes.width = packed[2] / sizes.heads;
  }
  sizes.new_keys = heads_in(node, 1, sizes.kv_heads).positions;
  sizes.value_width = heads_in(node, 2, sizes.kv_heads).width;
  return with_cache(sizes, earlier_positions(node, 4));
}

// The earlier keys and values are one input, [2, batch, heads, positions, width].
AttentionSizes projected_attention_sizes(const NodeView& node) {
  const Shape& x = expect_rank(node, 0, 3);
  const Shape& weights = expect_rank(node, 1, 2);
  const Shape widths = integers_attribute(node.node(), "qkv_hidden_sizes");
  const std::int64_t value_width = widths.size() == 3 ? widths[2] : weights[1] / 3;
  const std::int64_t width = (weights[1] - value_width) / 2;
  const auto heads = std::max<std::int64_t>(node.integer("num_heads", 1), 1);
  const std::size_t past = node.node().op_type() == "QAttention" ? 8 : 4;
  return with_cache({.batch = x[0],
                     .heads = heads,
                     .kv_heads = heads,
                     .queries = x[1],
                     .new_keys = x[1],
                     .width = width / heads,
                     .value_width = value_width / heads},
                    shape_at(node, past) == nullptr ? 0 : expect_rank(node, past, 5)[3]);
}

AttentionSizes multi_head_attention_sizes(const NodeView& node) {
  const AttentionSizes sizes = separate_sizes(node);
  return with_cache(sizes, earlier_positions(node, 6));
}

// The caches have room for more than the positions of which input 7 tells the number.
AttentionSizes masked_attention_sizes(const NodeView& node) {
  AttentionSizes sizes = separate_sizes(node);
  const std::int64_t room = earlier_positions(node, 5);
  const auto past = number_at(node, 7);
  sizes = with_cache(sizes, past ? *past : room);
  sizes.cached = std::max(room, sizes.keys);
  return sizes;
}

AttentionSizes group_query_attention_sizes(const NodeView& node) {
  const Shape& query = expect_rank(node, 0, 3);
  const bool is_packed = shape_at(node, 1) == nullptr;
  const auto kv_heads = node.integer("kv_num_heads", 0);
  const auto heads = node.integer("num_heads", 0);
  const std::int64_t in_query = is_packed ? heads + 2 * kv_heads : heads;
  if (kv_heads < 1 || heads < 1 || heads % kv_heads != 0 || query[2] % in_query != 0) {
    fail_shape(fmt::format("{} numbers are not of num_heads {} and kv_num_heads {}", query[2],
                           heads, kv_heads));
  }
  AttentionSizes sizes{.batch = query[0],
                       .heads = heads,
                       .kv_heads = kv_heads,
                       .queries = query[1],
                       .new_keys = is_packed ? query[1] : expect_rank(node, 1, 3)[1],
                       .width = query[2] / in_query};
  sizes.value_width = is_packed ? sizes.width : heads_in(node, 2, kv_heads).width;
  const std::int64_t room = earlier_positions(node, 3);
  sizes = with_cache(sizes, room);
  if (const auto total = number_at(node, 6)) {
    sizes.keys = *total;
    sizes.cached = std::max(room, *total);
  }
  return sizes;
}

}  // namespace emplace::onnx_model

// Layers of transformers: normalizations, activations, positions and masks.

#include "assemble.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace emplace {

Op ModelBuilder::make_norm(std::string_view kind, Tensor x, std::int64_t flops_per_element) {
  const Output value = value_of(graph_, x);
  if (value.shape.empty()) {
    fail("cannot normalize a scalar");
  }
  const auto elements = product(value.shape);
  Op op = make_op(kind);
  op.shape = {elements / value.shape.back(), value.shape.back()};
  op.flops = product({flops_per_element, elements});
  op.outputs = {make_output(value.shape, value.type)};
  return op;
}

Tensor ModelBuilder::layer_norm(Tensor x) {
  // For each element: sum and sum of squares (3), one multiply-add with the row's statistics and
  // one with scale and offset.
  Op op = make_norm("layer_norm", x, 7);
  const Tensor scale_offset = variable(op, "scale_offset", {2, op.shape[1]});
  op.outputs.push_back(make_output({op.shape[0], 2}, DataType::kFloat32));
  return emit(std::move(op), {x, scale_offset});
}

Tensor ModelBuilder::rms_norm(Tensor x) {
  // For each element: sum of squares (2), and two products.
  Op op = make_norm("rms_norm", x, 4);
  const Tensor factors = variable(op, "scale", {op.shape[1]});
  op.outputs.push_back(make_output({op.shape[0]}, DataType::kFloat32));
  return emit(std::move(op), {x, factors});
}

// x / sqrt(2), erf, plus 1, times x, times 1/2.
Tensor ModelBuilder::gelu(Tensor x) { return elementwise("gelu", 5, x); }

// The sigmoid, times x.
Tensor ModelBuilder::silu(Tensor x) { return elementwise("silu", 2, x); }

Tensor ModelBuilder::rotary_embedding(Tensor x) {
  const Output value = value_of(graph_, x);
  const auto rank = value.shape.size();
  if (rank < 2 || value.shape.back() % 2 != 0) {
    fail(fmt::format("expected [..., positions, width] of even width, found [{}]",
                     fmt::join(value.shape, ", ")));
  }
  const auto elements = product(value.shape);
  Op op = make_op("rotary_embedding");
  op.shape = {elements / (value.shape[rank - 2] * value.shape.back()), value.shape[rank - 2],
              value.shape.back()};
  op.flops = product({3, elements});  // a pair: four products, a sum and a difference
  op.bytes_read = product({op.shape[1], op.shape[2], size_of(value.type)});  // cosines and sines
  op.outputs = {make_output(value.shape, value.type)};
  return emit(std::move(op), {x});
}

Tensor ModelBuilder::causal_mask(Tensor scores) {
  if (shape(scores).size() < 2) {
    fail(fmt::format("expected scores [..., queries, keys], found [{}]",
                     fmt::join(shape(scores), ", ")));
  }
  return elementwise("causal_mask", 1, scores);
}

Tensor ModelBuilder::relative_shift(Tensor scores) {
  if (shape(scores).size() < 2) {
    fail(fmt::format("expected scores [..., queries, distances], found [{}]",
                     fmt::join(shape(scores), ", ")));
  }
  return elementwise("relative_shift", 0, scores);
}

Tensor ModelBuilder::slice(Tensor x, std::vector<std::int64_t> extents) {
  const Output value = value_of(graph_, x);
  check_extents("slice", extents);
  if (!std::ranges::equal(extents, value.shape, std::less_equal{})) {
    fail(fmt::format("cannot take a block [{}] of [{}]", fmt::join(extents, ", "),
                     fmt::join(value.shape, ", ")));
  }
  Op op = make_op("slice");
  op.shape = {product(extents), product(value.shape)};
  op.outputs = {make_output(std::move(extents), value.type)};
  // Of the whole, only the block is read.
  op.bytes_read = op.outputs[0].bytes - value.bytes;
  return emit(std::move(op), {x});
}

Tensor ModelBuilder::broadcast(Tensor x, std::int64_t copies) {
  const Output value = value_of(graph_, x);
  auto result = value.shape;
  result.insert(result.begin(), copies);
  check_extents("broadcast", result);
  Op op = make_op("broadcast");
  op.shape = {copies, product(value.shape)};
  op.outputs = {make_output(std::move(result), value.type)};
  return emit(std::move(op), {x});
}

}  // namespace emplace

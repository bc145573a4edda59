// Layers of transformers: normalizations, activations, positions and masks.

#include "assemble.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace emplace {

Tensor ModelBuilder::layer_norm(Tensor x) {
  Op op = make_op("layer_norm");
  const Tensor scale_offset =
      variable(op, "scale_offset", {2, shape(x).empty() ? 1 : shape(x).back()});
  return define(std::move(op), "layer_norm", AxisAttributes{}, {x, scale_offset});
}

Tensor ModelBuilder::rms_norm(Tensor x) {
  Op op = make_op("rms_norm");
  const Tensor factors = variable(op, "scale", {shape(x).empty() ? 1 : shape(x).back()});
  return define(std::move(op), "rms_norm", AxisAttributes{}, {x, factors});
}

Tensor ModelBuilder::gelu(Tensor x) { return define("gelu", {x}); }
Tensor ModelBuilder::silu(Tensor x) { return define("silu", {x}); }
Tensor ModelBuilder::rotary_embedding(Tensor x) { return define("rotary_embedding", {x}); }

Tensor ModelBuilder::causal_mask(Tensor scores) {
  if (shape(scores).size() < 2) {
    fail(fmt::format("expected scores [..., queries, keys], found [{}]",
                     fmt::join(shape(scores), ", ")));
  }
  return define("causal_mask", {scores});
}

Tensor ModelBuilder::relative_shift(Tensor scores) {
  if (shape(scores).size() < 2) {
    fail(fmt::format("expected scores [..., queries, distances], found [{}]",
                     fmt::join(shape(scores), ", ")));
  }
  return define("relative_shift", {scores});
}

Tensor ModelBuilder::slice(Tensor x, std::vector<std::int64_t> extents) {
  const Output value = value_of(graph_, x);
  check_extents("slice", extents);
  if (!std::ranges::equal(extents, value.shape, std::less_equal{})) {
    fail(fmt::format("cannot take a block [{}] of [{}]", fmt::join(extents, ", "),
                     fmt::join(value.shape, ", ")));
  }
  Op op = make_op("slice");
  op.outputs = {make_output(std::move(extents), value.type)};
  return define(std::move(op), "slice", {}, {x});
}

Tensor ModelBuilder::broadcast(Tensor x, std::int64_t copies) {
  const Output value = value_of(graph_, x);
  auto result = value.shape;
  result.insert(result.begin(), copies);
  check_extents("broadcast", result);
  Op op = make_op("broadcast");
  op.outputs = {make_output(std::move(result), value.type)};
  return define(std::move(op), "broadcast", {}, {x});
}

}  // namespace emplace

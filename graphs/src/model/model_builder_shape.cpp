// Layers that compute nothing: they join, cut and reorder.

#include "assemble.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace emplace {

Tensor ModelBuilder::concat(std::span<const Tensor> parts, std::size_t axis) {
  if (parts.empty()) {
    fail("nothing to concatenate");
  }
  if (axis >= shape(parts[0]).size()) {
    fail(fmt::format("expected tensors with an axis {}, found [{}]", axis,
                     fmt::join(shape(parts[0]), ", ")));
  }
  return define(make_op("concat"), "concat",
                AxisAttributes{.axis = static_cast<std::int64_t>(axis)}, parts);
}

std::vector<Tensor> ModelBuilder::split(Tensor x, std::int64_t parts, std::size_t axis) {
  Output value = value_of(graph_, x);
  if (axis >= value.shape.size() || parts < 1 || value.shape[axis] % parts != 0) {
    fail(fmt::format("cannot cut [{}] in {} equal parts along axis {}",
                     fmt::join(value.shape, ", "), parts, axis));
  }
  Op op = make_op("split");
  value.shape[axis] /= parts;
  op.outputs.assign(static_cast<std::size_t>(parts), make_output(value.shape, value.type));
  const AxisAttributes attributes{.axis = static_cast<std::int64_t>(axis)};
  std::vector<Tensor> result(static_cast<std::size_t>(parts),
                             define(std::move(op), "split", attributes, {x}));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].output = static_cast<std::int32_t>(i);
  }
  return result;
}

Tensor ModelBuilder::reshape(Tensor x, std::vector<std::int64_t> shape) {
  const Output value = value_of(graph_, x);
  check_extents("reshape", shape);
  if (product(shape) != product(value.shape)) {
    fail(fmt::format("cannot reshape [{}] to [{}]", fmt::join(value.shape, ", "),
                     fmt::join(shape, ", ")));
  }
  Op op = make_op("reshape");
  op.outputs = {make_output(std::move(shape), value.type)};
  return define(std::move(op), "reshape", {}, {x});
}

Tensor ModelBuilder::flatten(Tensor x) {
  if (shape(x).empty()) {
    fail("cannot flatten a scalar");
  }
  const auto rows = shape(x)[0];
  return reshape(x, {rows, product(shape(x)) / rows});
}

Tensor ModelBuilder::transpose(Tensor x, std::span<const std::size_t> axes) {
  return define("transpose", {x}, TransposeAttributes{.perm = {axes.begin(), axes.end()}});
}

}  // namespace emplace

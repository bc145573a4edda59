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
  Output joined = value_of(graph_, parts[0]);
  if (axis >= joined.shape.size()) {
    fail(fmt::format("expected tensors with an axis {}, found [{}]", axis,
                     fmt::join(joined.shape, ", ")));
  }
  std::int64_t extent = 0;
  for (const Tensor part : parts) {
    auto expected = joined.shape;
    if (shape(part).size() == expected.size()) {
      expected[axis] = shape(part)[axis];
    }
    if (shape(part) != expected || value_of(graph_, part).type != joined.type) {
      fail(fmt::format("cannot join [{}] to [{}] along axis {}", fmt::join(shape(part), ", "),
                       fmt::join(joined.shape, ", "), axis));
    }
    extent = sum({extent, expected[axis]});
  }
  joined.shape[axis] = extent;
  Op op = make_op("concat");
  op.shape = {static_cast<std::int64_t>(parts.size()), product(joined.shape)};
  op.outputs = {make_output(joined.shape, joined.type)};
  return emit(std::move(op), parts);
}

std::vector<Tensor> ModelBuilder::split(Tensor x, std::int64_t parts, std::size_t axis) {
  Output value = value_of(graph_, x);
  if (axis >= value.shape.size() || parts < 1 || value.shape[axis] % parts != 0) {
    fail(fmt::format("cannot cut [{}] in {} equal parts along axis {}",
                     fmt::join(value.shape, ", "), parts, axis));
  }
  Op op = make_op("split");
  op.shape = {parts, product(value.shape)};
  value.shape[axis] /= parts;
  op.outputs.assign(static_cast<std::size_t>(parts), make_output(value.shape, value.type));
  std::vector<Tensor> result(static_cast<std::size_t>(parts), emit(std::move(op), {x}));
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
  op.shape = shape;
  op.outputs = {make_output(std::move(shape), value.type)};
  return emit(std::move(op), {x});
}

Tensor ModelBuilder::flatten(Tensor x) {
  if (shape(x).empty()) {
    fail("cannot flatten a scalar");
  }
  const auto rows = shape(x)[0];
  return reshape(x, {rows, product(shape(x)) / rows});
}

Tensor ModelBuilder::transpose(Tensor x, std::span<const std::size_t> axes) {
  const Output value = value_of(graph_, x);
  std::vector<std::size_t> all(value.shape.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (!std::ranges::is_permutation(axes, all)) {
    fail(fmt::format("cannot reorder the axes of [{}] as [{}]", fmt::join(value.shape, ", "),
                     fmt::join(axes, ", ")));
  }
  Op op = make_op("transpose");
  op.shape = value.shape;
  std::vector<std::int64_t> reordered;
  for (const std::size_t axis : axes) {
    op.shape.push_back(static_cast<std::int64_t>(axis));
    reordered.push_back(value.shape[axis]);
  }
  op.outputs = {make_output(std::move(reordered), value.type)};
  return emit(std::move(op), {x});
}

}  // namespace emplace

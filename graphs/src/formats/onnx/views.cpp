// Views. ONNX does not say where a node copies: emplace takes what frameworks with strides do. A
// transpose, a slice, a split and a repeat are views, which take no time; a new shape is one, too,
// unless the elements stand in another order.

#include "conversions.hpp"
#include "fusions.hpp"
#include "model/assemble.hpp"
#include "model/strides.hpp"
#include "operators/operators.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::onnx_model {
namespace {

Shape permuted(const Shape& values, const Shape& axes) {
  Shape result;
  result.reserve(axes.size());
  for (const std::int64_t axis : axes) {
    result.push_back(values[static_cast<std::size_t>(axis)]);
  }
  return result;
}

// Adds the op of a view of the first input, whose results have these strides.
void add_view(OnnxNode& node, std::string_view kind, const Shape& strides,
              Attributes attributes = {}) {
  node.add(kind, {.attributes = std::move(attributes), .inputs = {0}});
  for (int i = 0; i < node.node().output_size(); ++i) {
    node.set_strides(i, strides);
  }
}

}  // namespace

Tensor add_copy(OnnxNode& node, int input) {
  const auto index = static_cast<std::size_t>(input);
  const Output& x = node.input(index);
  const std::string suffix = input == 0 ? "copy" : fmt::format("copy_{}", input);
  auto stored = stored_order(x.shape, node.strides(index));
  if (!stored) {
    return node.add("copy", {.suffix = suffix, .inputs = {input}, .results = {x}});
  }
  // As it lies in memory, and from there into the order of its axes.
  const Tensor below =
      node.add("reshape", {.suffix = suffix + "/stored",
                           .inputs = {input},
                           .results = {make_output(std::move(stored->shape), x.type)}});
  return node.add("transpose", {.suffix = suffix,
                                .attributes = TransposeAttributes{.perm = std::move(stored->perm)},
                                .inputs = {below},
                                .results = {x}});
}

namespace convert {

// Heads that stand beside each other in memory are copied to be a batch of matrices.
void matmul(OnnxNode& node, const Operator& row) {
  std::vector<Source> sides;
  for (const int i : {0, 1}) {
    const auto index = static_cast<std::size_t>(i);
    const bool fits = is_batch_of_matrices(node.shape(index), node.strides(index));
    sides.push_back(fits ? Source(i) : Source(add_copy(node, i)));
  }
  node.add(row.kind, {.inputs = std::move(sides)});
}

void transpose(OnnxNode& node, const Operator& row) {
  const Attributes attributes = attributes_of(node, row);
  add_view(node, "reshape",
           permuted(node.strides(0), std::get<TransposeAttributes>(attributes).perm));
}

// What stands in another order is copied.
void reshape(OnnxNode& node, const Operator& row) {
  const Shape& shape = node.shape(0);
  const Shape strides = node.strides(0);
  const auto viewed = strides_in_shape(shape, strides, node.result().shape);
  if (viewed && !node.flag(kContiguous)) {
    return add_view(node, row.kind, *viewed);
  }
  node.add(row.kind, {.inputs = {add_copy(node, 0)}});
}

// A block in its place; one that is read backward is copied.
void slice(OnnxNode& node, const Operator& row) {
  Shape strides = node.strides(0);
  if (node.has_input(4)) {
    const Shape steps = node.integers(4);
    const Shape axes = node.has_input(3) ? node.integers(3) : Shape();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] < 0) {
        return first(node, row);
      }
      const std::size_t axis = axes.empty() ? i : operators::axis_of(axes[i], strides.size());
      if (node.result().shape[axis] > 1) {
        strides[axis] *= steps[i];
      }
    }
  }
  if (node.shape(0) == node.result().shape) {
    return node.pass_on();
  }
  add_view(node, "slice_view", strides);
}

// The part of a tensor that one number picks.
void select(OnnxNode& node) {
  Shape strides = node.strides(0);
  const auto axis = static_cast<std::ptrdiff_t>(node.axis(0, strides.size()));
  strides.insert(strides.erase(strides.begin() + axis), node.shape(1).size(), 1);
  add_view(node, "slice_view", strides);
}

void split(OnnxNode& node, const Operator& row) {
  if (node.num_outputs() == 1) {
    return node.pass_on();
  }
  add_view(node, "split_view", node.strides(0), attributes_of(node, row));
}

// Where nothing is repeated, it is a new shape.
void expand(OnnxNode& node, const Operator&) {
  const Shape& from = node.shape(0);
  const Shape& to = node.result().shape;
  const std::size_t added = to.size() - from.size();
  const Shape strides = node.strides(0);
  Shape repeated(to.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    repeated[added + i] = from[i] == to[added + i] ? strides[i] : 0;
  }
  add_view(node, product(from) == product(to) ? "reshape" : "expand_view", repeated);
}

}  // namespace convert

}  // namespace emplace::onnx_model

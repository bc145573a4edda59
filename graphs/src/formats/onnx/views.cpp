// Views. ONNX does not say where a node copies: emplace takes what frameworks with strides do. A
// transpose, a slice, a split and a repeat are views, which take no time; a new shape is one, too,
// unless the elements stand in another order.

#include "conversions.hpp"
#include "model/assemble.hpp"
#include "model/strides.hpp"
#include "operators/operators.hpp"

#include <utility>

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

namespace convert {

void transpose(OnnxNode& node, const Operator& row) {
  const Attributes attributes = attributes_of(node, row);
  add_view(node, "reshape",
           permuted(node.strides(0), std::get<TransposeAttributes>(attributes).perm));
}

// What stands in another order is copied.
void reshape(OnnxNode& node, const Operator& row) {
  const Shape& shape = node.shape(0);
  const Shape strides = node.strides(0);
  if (const auto viewed = strides_in_shape(shape, strides, node.result().shape)) {
    return add_view(node, row.kind, *viewed);
  }
  const Output& x = node.input(0);
  Tensor copied;
  if (auto stored = stored_order(shape, strides)) {
    // As it lies in memory, and from there into the order of its axes.
    copied = node.add("reshape", {.suffix = "stored",
                                  .inputs = {0},
                                  .results = {make_output(std::move(stored->shape), x.type)}});
    copied =
        node.add("transpose", {.suffix = "copy",
                               .attributes = TransposeAttributes{.perm = std::move(stored->perm)},
                               .inputs = {copied},
                               .results = {x}});
  } else {
    copied = node.add("copy", {.suffix = "copy", .inputs = {0}, .results = {x}});
  }
  node.add(row.kind, {.inputs = {copied}});
}

// A block in its place; one that is read backward is copied.
void slice(OnnxNode& node, const Operator& row) {
  if (node.shape(0) == node.result().shape) {
    return node.pass_on();
  }
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

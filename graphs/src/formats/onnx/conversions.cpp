#include "conversions.hpp"

#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <vector>

namespace emplace::onnx_model {

Tensor add_bias(OnnxNode& node, Source x, int bias, const Output& result, std::int64_t axis) {
  return node.add("bias_add", {.suffix = "bias_add",
                               .attributes = AxisAttributes{.axis = axis},
                               .inputs = {x, bias},
                               .results = {result}});
}

Tensor add_function(OnnxNode& node, std::string_view name, Tensor x) {
  return node.add(name, {.suffix = "activation", .inputs = {x}, .results = {node.result()}});
}

Tensor activate(OnnxNode& node, Tensor x) {
  const std::string_view name = text_attribute(node.node(), "activation");
  const Operator* row = name.empty() ? nullptr : find_operator("", name);
  return row == nullptr ? x : add_function(node, row->kind, x);
}

namespace convert {

void plain(OnnxNode& node, const Operator& row) {
  if (row.kind.empty()) {
    return node.add_uncounted();
  }
  node.add(row.kind, {.attributes = attributes_of(node, row)});
}

void first(OnnxNode& node, const Operator& row) {
  node.add(row.kind, {.attributes = attributes_of(node, row), .inputs = {0}});
}

void pair(OnnxNode& node, const Operator& row) {
  node.add(row.kind, {.attributes = attributes_of(node, row), .inputs = {0, 1}});
}

void several(OnnxNode& node, const Operator& row) { node.add(row.kind, {.seen = node.inputs()}); }

void unchanged(OnnxNode& node, const Operator&) { node.pass_on(); }

void binary(OnnxNode& node, const Operator& row) {
  if (node.num_inputs() != 2) {
    return several(node, row);
  }
  const Shape& shape = node.result().shape;
  for (const int i : {0, 1}) {
    const auto other = static_cast<std::size_t>(1 - i);
    const bool is_whole = node.shape(static_cast<std::size_t>(i)) == shape;
    // A factor that is repeated takes no time to read.
    const bool is_factor = row.kind == "multiply" || (row.kind == "div" && i == 0);
    const bool is_repeated_factor =
        is_factor && is_whole && node.is_constant(other) && node.shape(other) != shape;
    if (!node.is_data(other) || is_repeated_factor) {
      // A setting may be what the other is broadcast to.
      node.add(is_whole ? operators::with_constant(row.kind, i == 1) : row.kind, {.inputs = {i}});
      return;
    }
  }
  const std::vector<Output> sides = node.inputs();
  if (operators::swaps(row.kind, sides[0].shape, sides[1].shape, shape)) {
    node.add(row.kind, {.inputs = {1, 0}, .seen = {sides[1], sides[0]}});
  } else {
    node.add(row.kind, {.inputs = {0, 1}, .seen = sides});
  }
}

// Where numbers have the type already, there is nothing to do.
void cast(OnnxNode& node, const Operator& row) {
  if (node.type(0) == node.result().type) {
    return node.pass_on();
  }
  first(node, row);
}

// Rows of a table of weights are an embedding.
void gather(OnnxNode& node, const Operator& row) {
  const bool is_gather = row.op_type == "Gather";
  if (!node.is_data(1)) {
    return is_gather && product(node.shape(1)) == 1 ? select(node) : first(node, row);
  }
  const bool is_lookup =
      is_gather && node.is_weight(0) && node.shape(0).size() == 2 && node.integer("axis", 0) == 0;
  node.add(is_lookup ? "embedding" : row.kind, {.inputs = {0, 1}});
}

void dropout(OnnxNode& node, const Operator& row) {
  const Numbers* ratio = node.numbers(1);
  const Numbers* is_training = node.numbers(2);
  if (is_training == nullptr || single_of(*is_training) != 1 ||
      (ratio != nullptr && single_of(*ratio) == 0)) {
    return node.pass_on();
  }
  const auto results = operators::infer(row.kind, {}, node.inputs());
  const Tensor y = node.add(row.kind, {.inputs = {0}, .results = results});
  node.give(0, y);
  node.give(1, {y.op, 1});
}

void pad(OnnxNode& node, const Operator& row) {
  if (node.shape(0) == node.result().shape) {
    return node.pass_on();
  }
  plain(node, row);
}

}  // namespace convert

}  // namespace emplace::onnx_model

#include "conversions.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace emplace::onnx_model {

Tensor add_filters(OnnxNode& node, const Operator& row, int filters, int bias) {
  const Tensor y = node.add(
      row.kind,
      {.attributes = attributes_of(node, row), .inputs = {0, filters}, .results = {node.result()}});
  const bool has_bias = node.has_input(static_cast<std::size_t>(bias));
  return has_bias ? add_bias(node, y, bias, node.result(), 1) : y;
}

Tensor normalize(OnnxNode& node, std::string_view name, const Attributes& attributes, Source x,
                 int scale, std::int64_t persistent_bytes) {
  std::vector<Source> inputs{x};
  const auto first = static_cast<std::size_t>(scale);
  if (node.is_weight(first) && node.is_weight(first + 1) &&
      node.shape(first) == node.shape(first + 1)) {
    inputs.emplace_back(Joined{scale, scale + 1});
  } else {
    for (const int i : {scale, scale + 1}) {
      if (node.is_data(static_cast<std::size_t>(i))) {
        inputs.emplace_back(i);
      }
    }
  }
  return node.add(name, {.attributes = attributes,
                         .inputs = std::move(inputs),
                         .results = operators::infer(name, attributes, std::array{node.result()}),
                         .persistent_bytes = persistent_bytes});
}

namespace convert {

void conv(OnnxNode& node, const Operator& row) { node.give(0, add_filters(node, row, 1, 2)); }

void gemm(OnnxNode& node, const Operator& row) {
  const Output& result = node.result();
  Tensor y = node.add(
      row.kind, {.attributes = attributes_of(node, row), .inputs = {0, 1}, .results = {result}});
  if (node.is_data(2)) {
    const bool is_bias = product(node.shape(2)) == result.shape.back();
    y = node.add("add",
                 {.suffix = is_bias ? "bias_add" : "add", .inputs = {y, 2}, .results = {result}});
  }
  node.give(0, row.op_type == "FusedGemm" ? activate(node, y) : y);
}

// The moving statistics belong to the op.
void batch_norm(OnnxNode& node, const Operator& row) {
  const bool is_training = node.is_trained() || node.flag("training_mode");
  const std::int64_t moving = sum({node.input(3).bytes, node.input(4).bytes});
  node.give(0, normalize(node, is_training ? row.kind : "batch_norm_inference", {}, 0, 1, moving));
}

void norm(OnnxNode& node, const Operator& row) {
  node.give(0, normalize(node, row.kind, attributes_of(node, row), 0, 1));
}

void pool(OnnxNode& node, const Operator& row) {
  if (node.shape(0).size() < 3) {
    return node.pass_on();
  }
  first(node, row);
}

// A model that is trained ends in the logits, not in what softmax makes of them.
void softmax(OnnxNode& node, const Operator& row) {
  if (node.is_trained_result()) {
    return node.pass_on();
  }
  if (node.opset() >= 13) {
    return first(node, row);
  }
  // All dimensions from the axis on are one row.
  const Output& x = node.input(0);
  const auto rank = std::ssize(x.shape);
  const std::int64_t axis = node.integer("axis", 1);
  const auto place = std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  const std::span all(x.shape);
  const Shape matrix{product(all.first(static_cast<std::size_t>(place))),
                     product(all.subspan(static_cast<std::size_t>(place)))};
  node.add(row.kind, {.inputs = {0}, .seen = {make_output(matrix, x.type)}});
}

// Logits of yes or no alike.
void sigmoid(OnnxNode& node, const Operator& row) {
  if (node.is_trained_result()) {
    return node.pass_on();
  }
  first(node, row);
}

// The gates are kept for the gradient. Biases and first states cost next to nothing. Kernels write
// the directions of a step side by side.
void recurrent(OnnxNode& node, const Operator& row) {
  const Shape& x = node.shape(0);
  const Shape& recurrence = node.shape(2);
  node.add(row.kind, {.seen = {node.input(0), node.input(1), node.input(2)},
                      .reserve = {make_output({product({x[0], x[1]}), recurrence[0], recurrence[1]},
                                              node.type(0))}});
  const Shape& y = node.result().shape;
  if (y.size() == 4 && !node.flag("layout")) {
    const std::int64_t both = product({y[1], y[3]});
    node.set_strides(0, {product({y[2], both}), y[3], both, 1});
  }
}

void cross_entropy(OnnxNode& node, const Operator& row) {
  const Output& x = node.input(0);
  if (x.shape.size() != 2 || node.has_input(2) || !node.result().shape.empty()) {
    return plain(node, row);
  }
  node.give(0,
            node.add("softmax_cross_entropy",
                     {.inputs = {0, 1}, .results = {node.result(), make_output(x.shape, x.type)}}));
}

}  // namespace convert

}  // namespace emplace::onnx_model

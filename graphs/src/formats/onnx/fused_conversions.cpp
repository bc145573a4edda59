// Quantized layers, and those that ONNX Runtime has fused: the ops that they are made of. Scales
// and zeros of quantized numbers are settings; what they are multiplied with is not counted.

#include "conversions.hpp"
#include "model/assemble.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace emplace::onnx_model::convert {

void quantized_conv(OnnxNode& node, const Operator& row) {
  node.give(0, add_filters(node, row, 3, 8));
}

void quantized_pair(OnnxNode& node, const Operator& row) { node.add(row.kind, {.inputs = {0, 3}}); }

// Convolution, bias, a sum with a fourth input, and an activation.
void fused_conv(OnnxNode& node, const Operator& row) {
  Tensor y = add_filters(node, row, 1, 2);
  if (node.is_data(3)) {
    y = node.add("add", {.suffix = "add", .inputs = {y, 3}, .results = {node.result()}});
  }
  node.give(0, activate(node, y));
}

// A bias, and a sum with a third input.
void bias_add(OnnxNode& node, const Operator&) {
  const Tensor y = add_bias(node, 0, 1, node.result());
  node.add("add", {.inputs = {y, 2}});
}

void bias_gelu(OnnxNode& node, const Operator& row) {
  const Source x = node.is_data(1) ? Source(add_bias(node, 0, 1, node.result())) : Source(0);
  node.add(row.kind, {.inputs = {x}});
}

// Half of the columns, with a bias, are multiplied with the gelu of the others.
void split_gelu(OnnxNode& node, const Operator&) {
  const Output& half = node.result();
  const Tensor x = add_bias(node, 0, 1, node.input(0));
  const Tensor left =
      node.add("split_view", {.suffix = "split", .inputs = {x}, .results = {half, half}});
  const Tensor gate = add_function(node, "gelu", {left.op, 1});
  node.add("multiply", {.inputs = {left, gate}});
}

// Right sides of 4 bits or so, several in a byte, which the product makes into numbers on its way.
// The inputs are x, the packed right side, its scales, and what else tells its numbers.
void packed_matmul(OnnxNode& node, const Operator& row) {
  std::vector<Source> inputs;
  for (int i = 0; i < std::min(node.node().input_size(), 5); ++i) {
    if (node.is_data(static_cast<std::size_t>(i))) {
      inputs.emplace_back(i);
    }
  }
  const Output right = make_output({node.integer("K", 0), node.integer("N", 0)}, node.type(0));
  const Tensor y = node.add(
      row.kind,
      {.inputs = std::move(inputs), .seen = {node.input(0), right}, .results = {node.result()}});
  const bool has_bias = row.op_type == "MatMulNBits" && node.has_input(5);
  node.give(0, has_bias ? add_bias(node, y, 5, node.result()) : y);
}

// The inputs are a table, ids, scales and perhaps zeros.
void packed_gather(OnnxNode& node, const Operator& row) {
  std::vector<Source> inputs{0, 1, 2};
  if (node.has_input(3)) {
    inputs.emplace_back(3);
  }
  node.add(row.kind, {.inputs = std::move(inputs)});
}

// Maps [N, H, W, C]; the inputs are maps, scale, offset, what is added to the maps, and a bias.
void fused_group_norm(OnnxNode& node, const Operator& row) {
  Source maps = 0;
  if (row.op_type == "SkipGroupNorm") {
    if (node.is_data(4)) {
      maps = add_bias(node, maps, 4, node.result());
    }
    const Tensor joined =
        node.add("add", {.suffix = "add", .inputs = {maps, 3}, .results = {node.result()}});
    node.give(1, joined);
    maps = joined;
  }
  const Tensor y = normalize(node, row.kind, attributes_of(node, row), maps, 1);
  node.give(0, node.flag("activation") ? add_function(node, "silu", y) : y);
}

// The product of inputs 0 and 3, and a bias, input 6.
void quantized_gemm(OnnxNode& node, const Operator& row) {
  const Tensor y = node.add(
      row.kind,
      {.attributes = attributes_of(node, row), .inputs = {0, 3}, .results = {node.result()}});
  node.give(0, node.is_data(6) ? add_bias(node, y, 6, node.result()) : y);
}

// Of each row, k experts of all do their layers: inputs 2, 5 and 8 of a quantized layer, with
// scales and biases between them, else 2, 4 and 6.
void experts(OnnxNode& node, const Operator& row) {
  const bool is_quantized = row.op_type == "QMoE";
  const Output& x = node.input(0);
  const std::int64_t columns = x.shape.empty() ? 1 : x.shape.back();
  const std::int64_t rows = columns == 0 ? 0 : product(x.shape) / columns;
  const std::int64_t bits = node.integer("expert_weight_bits", 4);
  const std::size_t step = is_quantized ? 3 : 2;
  std::vector<Output> seen{x, make_output({rows, node.integer("k", 1)}, DataType::kInt32)};
  for (std::size_t layer = 2; layer <= 2 + 2 * step; layer += step) {
    if (node.has_input(layer)) {
      Shape weights = node.shape(layer);
      if (is_quantized && bits > 0 && bits < 8) {
        weights.push_back(8 / bits);  // several in a byte
      }
      seen.push_back(make_output(std::move(weights), node.type(layer)));
    }
  }
  node.add(row.kind, {.seen = std::move(seen)});
}

}  // namespace emplace::onnx_model::convert

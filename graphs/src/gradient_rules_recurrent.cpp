// Gradients of layers of sequence models.

#include "assemble.hpp"
#include "gradient_rules.hpp"

#include <array>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// The gradient of the whole table: zeros, to which each id adds its row.
void embedding(GradientStep& step) {
  if (!step.wants(0)) {
    return;
  }
  const Output rows = step.op().outputs[0];
  Op op = step.make_op("embedding_backward", "grad");
  op.flops = product(rows.shape);
  op.bytes_read = rows.bytes;
  op.bytes_written = rows.bytes;
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), {step.gradient(), step.input(1)}));
}

// All gradients at once, from the gates and the cell's new memory that the forward op kept. With
// dz, the gradient of the gates before their activations: dx and dh = dz W^T, dW = [x h]^T dz,
// db = the sum of dz over the batch.
void lstm_cell(GradientStep& step) {
  const auto n = step.dimension(0);
  const auto i = step.dimension(1);
  const auto h = step.dimension(2);
  const auto gates = product({4, h});
  Op op = step.make_op("lstm_cell_backward", "grad");
  // For each number of the state: 11 up to the gradients of gates and memory, 4 x 3 for dz.
  op.flops = product({23, n, h});
  const std::array<std::int64_t, 5> products = {
      product({2, n, i, gates}), product({2, n, h, gates}), 0, product({2, n, sum({i, h}), gates}),
      product({n - 1, gates})};
  std::vector<std::size_t> wanted;
  for (std::size_t input = 0; input < products.size(); ++input) {
    if (step.wants(input)) {
      wanted.push_back(input);
      op.outputs.push_back(like(step.input_value(input)));
      op.flops = sum({op.flops, products[input]});
    }
  }
  std::vector<Tensor> inputs;
  for (const std::int32_t output : {0, 1}) {
    if (step.has_gradient(output)) {
      inputs.push_back(step.gradient(output));
    }
  }
  // Not the bias: its gradient does not depend on it.
  for (const std::size_t input : {0, 1, 2, 3}) {
    inputs.push_back(step.input(input));
  }
  inputs.push_back(step.output(1));
  inputs.push_back(step.output(2));
  Tensor gradient = step.emit(std::move(op), inputs);
  for (const std::size_t input : wanted) {
    step.give(input, gradient);
    ++gradient.output;
  }
}

constexpr std::array kRules = {
    NamedRule{"embedding", embedding},
    NamedRule{"lstm_cell", lstm_cell},
};

}  // namespace

std::span<const NamedRule> recurrent_rules() { return kRules; }

}  // namespace emplace

// Gradients of layers of sequence models.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"

#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>

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
  for (std::size_t input = 0; input < 4; ++input) {
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

// All steps of a recurrent layer, [T, N, I, H, directions], from the gates that the forward op
// kept, its last output. Inputs are x, W [directions, gates H, I], R [.., gates H, H], and biases,
// a projection of the state [directions, P, H] and first states. With dz, the gradient of the gates
// before their activations: dx = dz W, dh = dz R (from step to step, wanted or not), dW = dz^T x,
// dR = dz^T h, db = the sum of dz; a projection has two products, as W has.
void recurrent(GradientStep& step, std::int64_t flops_per_state) {
  const Op forward = step.op();
  const std::int64_t cells = product({step.dimension(0), step.dimension(1)});
  const std::int64_t input_product = product({2, cells, product(step.input_value(1).shape)});
  const std::int64_t state_product = product({2, cells, product(step.input_value(2).shape)});
  Op op = step.make_op(fmt::format("{}_backward", forward.kind), "grad");
  op.flops =
      sum({state_product, product({flops_per_state, cells, step.dimension(3), step.dimension(4)})});
  std::vector<Tensor> inputs;
  for (std::int32_t i = 0; index_of(i) + 1 < forward.outputs.size(); ++i) {
    if (step.has_gradient(i)) {
      inputs.push_back(step.gradient(i));
    }
  }
  // An LSTM whose state is not as wide as its gates has a projection.
  const std::vector<std::int64_t> recurrence = step.input_value(2).shape;
  const std::vector<std::int64_t> projection = {
      step.dimension(4), step.dimension(3),
      forward.kind == "lstm" && recurrence.size() == 3 ? recurrence[1] / 4 : step.dimension(3)};
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    const Output value = step.input_value(i);
    const bool is_bias = i > 2 && value.shape.size() == 2;
    const bool is_projection = i > 2 && value.shape == projection && projection[2] != projection[1];
    const std::int64_t projection_product =
        is_projection ? product({2, cells, product(value.shape)}) : 0;
    if (!is_bias) {
      inputs.push_back(step.input(i));
    }
    op.flops = sum({op.flops, projection_product});
    if (step.wants(i)) {
      wanted.push_back(i);
      op.outputs.push_back(like(value));
      op.flops = sum({op.flops, i < 2     ? input_product
                                : i == 2  ? state_product
                                : is_bias ? product({cells - 1, product(value.shape)})
                                          : projection_product});
    }
  }
  inputs.push_back(step.output(static_cast<std::int32_t>(forward.outputs.size()) - 1));
  Tensor gradient = step.emit(std::move(op), inputs);
  for (const std::size_t i : wanted) {
    step.give(i, gradient);
    ++gradient.output;
  }
}

// For each number of the state, beside the products: as lstm_cell; of a GRU 3 gates of 3 and 6 for
// what mixes them; of a plain layer tanh's 3.
void lstm(GradientStep& step) { recurrent(step, 23); }
void gru(GradientStep& step) { recurrent(step, 15); }
void rnn(GradientStep& step) { recurrent(step, 3); }

constexpr std::array kRecurrentRules = {
    NamedRule{"embedding", embedding}, NamedRule{"gru", gru}, NamedRule{"lstm", lstm},
    NamedRule{"lstm_cell", lstm_cell}, NamedRule{"rnn", rnn},
};

}  // namespace

std::span<const NamedRule> recurrent_rules() { return kRecurrentRules; }

}  // namespace emplace

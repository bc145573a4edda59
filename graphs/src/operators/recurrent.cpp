// Recurrent cells and layers.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>
#include <vector>

namespace emplace::operators {
namespace {

using enum OpClass;

constexpr std::string_view kCell = "[N, I, H]: batch, numbers of the input, numbers of the state";
constexpr std::string_view kRecurrent =
    "[T, N, I, H, directions]: steps, batch, numbers of the input, numbers of the state";

// One step of an LSTM cell (Hochreiter, Schmidhuber 1997, with forget gates, no peepholes). Inputs
// are x [N, I], the state h and its memory c [N, H], weights [I + H, 4H] and a bias [4H]; results
// the new h and c, and the gates after their activations [N, 4H], for the gradient.
std::vector<Output> infer_lstm_cell(const Call& call) {
  const Shape& x = call.input(0).shape;
  const Output& state = call.input(1);
  if (x.size() != 2 || state.shape.size() != 2 || x[0] != state.shape[0] ||
      call.input(2).shape != state.shape) {
    fail_shapes(fmt::format(
        "expected x [N, I] and a state of two [N, H], found [{}], [{}] and [{}]",
        fmt::join(x, ", "), fmt::join(state.shape, ", "), fmt::join(call.input(2).shape, ", ")));
  }
  const std::int64_t gates = product({4, state.shape[1]});
  const std::int64_t rows = sum({x[1], state.shape[1]});
  if (call.input(3).shape != Shape{rows, gates} || call.input(4).shape != Shape{gates}) {
    fail_shapes(fmt::format("expected weights [{}, {}] and bias [{}], found [{}] and [{}]", rows,
                            gates, gates, fmt::join(call.input(3).shape, ", "),
                            fmt::join(call.input(4).shape, ", ")));
  }
  const Output result = make_output(state.shape, state.type);
  return {result, result, make_output({x[0], gates}, state.type)};
}

// For each number of the state: 4 biases and 4 activations, then c = f c + i g, h = o tanh(c).
void count_lstm_cell(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  const Shape& state = call.input(1).shape;
  if (x.size() != 2 || state.size() != 2) {
    fail_shapes("expected x [N, I] and a state [N, H]");
  }
  const std::int64_t n = x[0];
  const std::int64_t h = state[1];
  op.shape = {n, x[1], h};
  op.flops = sum({product({2, n, sum({x[1], h}), 4, h}), product({13, n, h})});
}

// All steps of a layer: x [T, N, I], weights W [directions, gates H, I] of the inputs and R
// [directions, gates H, H] of the states, and perhaps a projection of the state [directions, P, H].
// FLOPs are those of the products, and `flops` for each number of the memory.
void count_layer(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  const Shape& w = call.input(1).shape;
  const Shape& r = call.input(2).shape;
  if (x.size() != 3 || w.size() != 3 || r.size() != 3) {
    fail_shapes(fmt::format(
        "expected x [T, N, I] and weights [directions, gates, I] and [directions, gates, H], found "
        "[{}], [{}] and [{}]",
        fmt::join(x, ", "), fmt::join(w, ", "), fmt::join(r, ", ")));
  }
  const std::int64_t cells = product({x[0], x[1]});
  const bool projects = call.inputs.size() > 3;
  const std::int64_t projection = projects ? product(call.input(3).shape) : 0;
  const std::int64_t memory = projects ? r[1] / 4 : r[2];
  op.shape = {x[0], x[1], x[2], r[2], r[0]};
  op.flops = sum({product({2, cells, product(w)}), product({2, cells, product(r)}),
                  product({call.of.flops, cells, r[0], memory}), product({2, cells, projection})});
}

// Several layers in one op, of which only the weights are known: every row of the input, the first,
// is multiplied by every matrix, in each layer and direction. Gradients take twice that.
void count_layers(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  std::int64_t weights = 0;
  for (const Output& matrix : call.inputs.subspan(1)) {
    weights = sum({weights, product(matrix.shape)});
  }
  op.flops =
      x.empty() || x.back() == 0 ? 0 : product({call.of.flops, product(x) / x.back(), weights});
}

// --- Gradients ---

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

// cuDNN: one product of all inputs, then for each step one of the state and the functions of gates.
std::int64_t kernels_of_layer(const Op& op) {
  return op.shape.size() == 5 ? product({op.shape[4], sum({product({2, op.shape[0]}), 1})}) : 1;
}

constexpr Operator layer(std::string_view name, std::string_view summary, std::int64_t flops,
                         Gradient gradient) {
  return {.kind = {name, kMatmul, true, kRecurrent, summary},
          .count = count_layer,
          .gradient = gradient,
          .flops = flops,
          .only_imported = true,
          .kernels_of = kernels_of_layer};
}

constexpr std::array kRecurrentRows = {
    in_kernels(
        3, Operator{.kind = {"lstm_cell", kMatmul, true, kCell, "one step of an LSTM cell, fused"},
                    .infer = infer_lstm_cell,
                    .count = count_lstm_cell,
                    .gradient = lstm_cell}),
    Operator{.kind = {"lstm_cell_backward", kMatmul, true, kCell,
                      "gradients of lstm_cell: of all its inputs"}},
    layer("gru", "all steps of a layer of gated recurrent units", 12, gru),
    layer("lstm", "all steps of a layer of LSTM cells", 13, lstm),
    layer("rnn", "all steps of a plain recurrent layer", 2, rnn),
    Operator{.kind = {"recurrent_layers", kMatmul, true, kRecurrent,
                      "all steps of several recurrent layers"},
             .count = count_layers,
             .flops = 2,
             .only_imported = true},
    Operator{.kind = {"recurrent_layers_backward", kMatmul, true, kRecurrent,
                      "gradients of recurrent_layers"},
             .count = count_layers,
             .flops = 4,
             .only_imported = true},
};

}  // namespace

std::span<const Operator> recurrent_layers() { return kRecurrentRows; }

}  // namespace emplace::operators

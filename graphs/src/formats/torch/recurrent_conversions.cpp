// Recurrent layers and cells.

#include "conversions.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace emplace::torch_program {

// One step: its weights are one variable, its biases another.
void lstm_cell(TorchNode& node, std::string_view kind) {
  const ValueId x = node.expect({"input"});
  const Argument* state = node.find({"hx"});
  const ValueId w_ih = node.expect({"w_ih"});
  const ValueId w_hh = node.expect({"w_hh"});
  if (state == nullptr || state->tensors.size() != 2) {
    throw Error(ErrorCode::kFormat, "expected a state of two tensors");
  }
  expect_rank(node, x, 2, "an input");
  expect_rank(node, w_hh, 2, "weights");
  const std::int64_t n = node.value(x).output.shape[0];
  const std::int64_t i = node.value(x).output.shape[1];
  const std::int64_t h = node.value(w_hh).output.shape[1];
  const auto gates = product({4, h});
  const Output result = make_output({n, h}, node.output().type);
  Op op{.outputs = {result, result, make_output({n, gates}, node.output().type)}};
  operators::define(op, kind, {}, std::array{node.value(x).output, result});
  op = node.make_op(std::move(op));
  const Tensor input = node.read(op, x);
  const Tensor before = node.read(op, state->tensors[0]);
  const Tensor memory = node.read(op, state->tensors[1]);
  const Tensor weights = node.read_joined(op, {w_ih, w_hh}, {sum({i, h}), gates});
  const Tensor bias =
      node.read_joined(op, {node.tensor({"b_ih"}), node.tensor({"b_hh"})}, {2, gates});
  const Tensor y = node.emit(std::move(op), std::array{input, before, memory, weights, bias});
  node.give(node.call().results[0], y);
  if (node.call().results.size() > 1 && node.call().results[1] != kNone) {
    node.give(node.call().results[1], {y.op, 1});
  }
}

// All steps of a layer, both of its directions together, are one op. Its inputs are x, the weights
// of the inputs and of the states, biases and the first states, each over all directions; its last
// output is the gates, for its gradient.
void recurrent(TorchNode& node, std::string_view kind) {
  const ValueId x = node.expect({"input", "data"});
  const Argument* weights = node.find({"params"});
  const Argument* first = node.find({"hx"});
  const std::int64_t layers = node.integer("num_layers", 1);
  const std::int64_t directions = node.integer("bidirectional", 0) != 0 ? 2 : 1;
  const std::size_t gate_parts = node.integer("has_biases", 1) != 0 ? 4 : 2;
  const std::size_t count = weights == nullptr ? 0 : weights->tensors.size();
  const bool has_memory = kind == "lstm";
  // An LSTM may project its state: one matrix more, the last of each layer and direction.
  const bool projects =
      has_memory && layers > 0 &&
      std::cmp_equal(count,
                     product({layers, directions, static_cast<std::int64_t>(gate_parts) + 1}));
  const std::size_t parts = gate_parts + (projects ? 1 : 0);
  const auto each = static_cast<std::size_t>(directions) * parts;
  if (layers < 1 || count % each != 0 || std::cmp_not_equal(count / each, layers)) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("expected {} weights and biases for each layer and direction", gate_parts));
  }
  const Output whole = node.value(x).output;
  if (whole.shape.size() < 2) {
    throw Error(ErrorCode::kFormat, "expected an input [steps, batch, width]");
  }
  const bool is_batched = whole.shape.size() == 3;
  const std::size_t step_axis = is_batched && node.integer("batch_first", 0) != 0 ? 1 : 0;
  const std::int64_t steps = whole.shape[step_axis];
  const std::int64_t batch = is_batched ? whole.shape[1 - step_axis] : 1;
  const std::vector<ValueId> results = node.call().results;
  const std::vector<ValueId> states = first == nullptr ? std::vector<ValueId>() : first->tensors;
  // The first states of all layers stand one after the other.
  std::vector<Tensor> given;
  for (const ValueId state : states) {
    if (state == kNone || node.is_constant(state)) {
      continue;
    }
    Shape shape = node.value(state).output.shape;
    if (shape.size() < 2) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("expected states of 2 or 3 dimensions, found {}", shape.size()));
    }
    if (layers == 1) {
      Op reader;
      given.push_back(node.read(reader, state));
      continue;
    }
    shape[0] = directions;
    const std::vector<Output> parts_of_state(static_cast<std::size_t>(layers),
                                             make_output(shape, node.value(state).output.type));
    given.push_back(node.make("split_view", AxisAttributes{.axis = 0}, parts_of_state, {state}));
  }
  Tensor y;
  std::vector<std::vector<Tensor>> last(has_memory ? 2 : 1);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::array<std::vector<ValueId>, 4> joined;  // of inputs, of states, biases, projections
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t part = i % parts;
      joined[part >= gate_parts ? 3 : std::min<std::size_t>(part, 2)].push_back(
          weights->tensors[static_cast<std::size_t>(layer) * each + i]);
    }
    const ValueId recurrence = joined[1].front();
    expect_rank(node, recurrence, 2, "weights");
    const std::int64_t gates = node.value(recurrence).output.shape[0];
    const std::int64_t hidden = node.value(recurrence).output.shape[1];  // of what is handed on
    const std::int64_t memory = projects ? gates / 4 : hidden;
    const std::int64_t width = layer == 0 ? whole.shape.back() : product({directions, hidden});
    const std::int64_t cells = product({steps, batch});
    const Output steps_of_layer = make_output({steps, batch, width}, whole.type);
    const Output of_inputs = make_output({directions, gates, width}, whole.type);
    const Output of_states = make_output({directions, gates, hidden}, whole.type);
    const Output projection = make_output({directions, hidden, memory}, whole.type);
    Op op;
    Shape shape = whole.shape;
    shape.back() = product({directions, hidden});
    op.outputs = {make_output(shape, whole.type)};
    const Output state = make_output({directions, batch, hidden}, whole.type);
    op.outputs.insert(op.outputs.end(), last.size(), state);
    if (projects) {
      op.outputs[2] = make_output({directions, batch, memory}, whole.type);
    }
    op.outputs.push_back(make_output({cells, directions, gates}, whole.type));
    std::vector<Output> sizes{steps_of_layer, of_inputs, of_states};
    if (projects) {
      sizes.push_back(projection);
    }
    operators::define(op, kind, {}, sizes);
    op = node.make_op(std::move(op));
    std::vector<Tensor> inputs{layer == 0 ? node.read(op, x) : y};
    inputs.push_back(node.read_joined(op, joined[0], {directions, gates, width}));
    inputs.push_back(node.read_joined(op, joined[1], {directions, gates, hidden}));
    if (gate_parts == 4) {
      inputs.push_back(node.read_joined(op, joined[2], {directions, product({2, gates})}));
    }
    if (projects) {
      inputs.push_back(node.read_joined(op, joined[3], {directions, hidden, memory}));
    }
    for (Tensor tensor : given) {
      tensor.output += layers == 1 ? 0 : static_cast<std::int32_t>(layer);
      inputs.push_back(tensor);
    }
    y = node.emit(std::move(op), inputs);
    for (std::size_t i = 0; i < last.size(); ++i) {
      last[i].push_back({y.op, static_cast<std::int32_t>(i + 1)});
    }
    const Argument* p = node.find({"dropout"});
    if (layer + 1 < layers && node.integer("train", 0) != 0 && p != nullptr &&
        p->number.value_or(0) > 0) {
      y = node.make("dropout", {},
                    {make_output(shape, whole.type), make_output(shape, DataType::kBool)}, {y});
    }
  }
  node.give(node.result(), y);
  for (std::size_t i = 0; i < last.size() && i + 1 < results.size(); ++i) {
    const ValueId id = results[i + 1];
    if (!node.is_wanted(id)) {
      continue;
    }
    if (layers == 1) {
      node.give(id, last[i][0]);
      continue;
    }
    node.give(id, node.make("concat", AxisAttributes{.axis = 0}, {node.value(id).output},
                            std::vector<Operand>(last[i].begin(), last[i].end())));
  }
}

}  // namespace emplace::torch_program

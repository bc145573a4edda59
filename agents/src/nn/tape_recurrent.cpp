// What recurrent networks with attention need of Tape, forward and backward.

#include "numbers.hpp"
#include "tape.hpp"

#include <emplace/graphs/check.hpp>

#include <algorithm>
#include <array>

namespace emplace::agents::nn {
namespace {

// The columns of a cell's gates: those of the input, the forget gate, the output, and what is new.
enum Gate : std::size_t { kInputGate, kForgetGate, kOutputGate, kNew, kNumGates };

// The numbers of one gate, or of a state of `columns`, in a panel.
template <class Scalar>
Numbers<Scalar> block(Scalar* matrix, std::size_t panel, std::size_t columns, std::size_t gate,
                      std::size_t num_gates = kNumGates) {
  const std::size_t size = columns * kLanes;
  return {matrix + (panel * num_gates + gate) * size, static_cast<Eigen::Index>(size)};
}

template <class Scalar>
Numbers<Scalar> state_block(Scalar* matrix, std::size_t panel, std::size_t columns) {
  return block(matrix, panel, columns, 0, 1);
}

// Replaces scores by their softmax, and what fills up the last panel by 0.
template <class Scalar>
void set_shares(std::span<Scalar> scores, std::size_t panels) {
  const Scalar most = *std::ranges::max_element(scores);
  for (Scalar& score : scores) {
    score = (score - most) * Scalar{0.5};
  }
  std::fill(scores.data() + scores.size(), scores.data() + panels * kLanes, Scalar{0});
  kernels<Scalar>().exp_twice(panels, scores.data(), scores.data());
  double sum = 0;
  for (const Scalar share : scores) {
    sum += share;
  }
  for (Scalar& share : scores) {
    share = static_cast<Scalar>(share / sum);
  }
  std::fill(scores.data() + scores.size(), scores.data() + panels * kLanes, Scalar{0});
}

}  // namespace

template <class Scalar>
Value Tape<Scalar>::add_rows(Value x, Value table, std::span<const std::int32_t> rows) {
  const MatrixView<Scalar> in = value(x);
  EMPLACE_CHECK(rows.size() == in.rows && value(table).columns == in.columns,
                "{} rows of {} columns to add to {} of {}", rows.size(), value(table).columns,
                in.rows, in.columns);
  const Value recorded = record(Operation::kAddRows, in.rows, in.columns, std::array{x, table});
  nodes_.back().first_action = actions_.size();
  actions_.insert(actions_.end(), rows.begin(), rows.end());
  const MatrixView<Scalar> out = value(recorded);
  const MatrixView<Scalar> from = value(table);
  numbers(out) = numbers(in);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Scalar* const added = from.row(static_cast<std::size_t>(rows[row]));
    Scalar* const to = out.row(row);
    for (std::size_t at = 0; at < out.columns * kLanes; at += kLanes) {
      to[at] += added[at];
    }
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_added_rows_gradient(Node& node) {
  const MatrixView<Scalar> from = view(node.gradient, node);
  if (Scalar* const to = gradient_to_add_to(operand(node, 0))) {
    numbers(from, to) += numbers(from);
  }
  Node& table = operand(node, 1);
  if (gradient_to_add_to(table) == nullptr) {
    return;
  }
  for (std::size_t row = 0; row < node.rows; ++row) {
    const Scalar* const added = from.row(row);
    Scalar* const to = view(table.gradient, table)
                           .row(static_cast<std::size_t>(actions_[node.first_action + row]));
    for (std::size_t at = 0; at < node.columns * kLanes; at += kLanes) {
      to[at] += added[at];
    }
  }
}

template <class Scalar>
Value Tape<Scalar>::bound(Value x, double scale, double most) {
  const MatrixView<Scalar> in = value(x);
  const Value recorded = record(Operation::kBound, in.rows, in.columns, {&x, 1});
  Node& node = nodes_.back();
  node.scale = static_cast<Scalar>(scale);
  node.most = static_cast<Scalar>(most);
  const MatrixView<Scalar> out = value(recorded);
  numbers(out) = numbers(in) / node.scale;
  kernels<Scalar>().tanh(out.size() / kLanes, out.data);
  numbers(out) *= node.most;
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_bound_gradient(Node& node) {
  const MatrixView<Scalar> y = view(node.value, node);
  if (Scalar* const to = gradient_to_add_to(operand(node))) {
    numbers(y, to) += numbers(y, node.gradient) * (node.most / node.scale) *
                      (1 - (numbers(y) / node.most).square());
  }
}

template <class Scalar>
Value Tape<Scalar>::lstm_gates(Value x) {
  const MatrixView<Scalar> in = value(x);
  EMPLACE_CHECK(in.columns % kNumGates == 0, "{} columns for gates", in.columns);
  const Value recorded = record(Operation::kLstmGates, in.rows, in.columns, {&x, 1});
  const MatrixView<Scalar> out = value(recorded);
  const std::size_t width = in.columns / kNumGates;
  // sigmoid x = (1 + tanh(x / 2)) / 2
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    for (const Gate gate : {kInputGate, kForgetGate, kOutputGate, kNew}) {
      auto to = block(out.data, panel, width, gate);
      const auto from = block(in.data, panel, width, gate);
      if (gate == kNew) {
        to = from;
      } else {
        to = (from + (gate == kForgetGate ? Scalar{1} : Scalar{0})) * Scalar{0.5};
      }
    }
  }
  kernels<Scalar>().tanh(out.size() / kLanes, out.data);
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    for (const Gate gate : {kInputGate, kForgetGate, kOutputGate}) {
      auto to = block(out.data, panel, width, gate);
      to = Scalar{0.5} + Scalar{0.5} * to;
    }
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_lstm_gates_gradient(Node& node) {
  Scalar* const d = gradient_to_add_to(operand(node));
  if (d == nullptr) {
    return;
  }
  const MatrixView<Scalar> y = view(node.value, node);
  const std::size_t width = node.columns / kNumGates;
  for (std::size_t panel = 0; panel < y.panels(); ++panel) {
    for (const Gate gate : {kInputGate, kForgetGate, kOutputGate, kNew}) {
      auto to = block(d, panel, width, gate);
      const auto by = block(node.gradient, panel, width, gate);
      const auto at = block(node.value, panel, width, gate);
      if (gate == kNew) {
        to += by * (1 - at.square());
      } else {
        to += by * at * (1 - at);
      }
    }
  }
}

template <class Scalar>
Value Tape<Scalar>::lstm_state(Value gates, Value before) {
  const MatrixView<Scalar> in = value(before);
  EMPLACE_CHECK(value(gates).rows == in.rows && value(gates).columns == kNumGates * in.columns,
                "gates of {} columns for cells of {}", value(gates).columns, in.columns);
  const Value recorded =
      record(Operation::kLstmState, in.rows, in.columns, std::array{gates, before});
  const MatrixView<Scalar> out = value(recorded);
  Scalar* const gate = value(gates).data;
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    state_block(out.data, panel, in.columns) =
        block(gate, panel, in.columns, kForgetGate) * state_block(in.data, panel, in.columns) +
        block(gate, panel, in.columns, kInputGate) * block(gate, panel, in.columns, kNew);
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_lstm_state_gradient(Node& node) {
  Node& gates = operand(node, 0);
  Node& before = operand(node, 1);
  Scalar* const to_gates = gradient_to_add_to(gates);
  Scalar* const to_before = gradient_to_add_to(before);
  const std::size_t width = node.columns;
  for (std::size_t panel = 0; panel < view(node.value, node).panels(); ++panel) {
    const auto d = state_block(node.gradient, panel, width);
    if (to_gates != nullptr) {
      block(to_gates, panel, width, kForgetGate) += d * state_block(before.value, panel, width);
      block(to_gates, panel, width, kInputGate) += d * block(gates.value, panel, width, kNew);
      block(to_gates, panel, width, kNew) += d * block(gates.value, panel, width, kInputGate);
    }
    if (to_before != nullptr) {
      state_block(to_before, panel, width) += d * block(gates.value, panel, width, kForgetGate);
    }
  }
}

template <class Scalar>
Value Tape<Scalar>::lstm_output(Value gates, Value state) {
  const MatrixView<Scalar> in = value(state);
  EMPLACE_CHECK(value(gates).rows == in.rows && value(gates).columns == kNumGates * in.columns,
                "gates of {} columns for cells of {}", value(gates).columns, in.columns);
  const Value recorded =
      record(Operation::kLstmOutput, in.rows, in.columns, std::array{gates, state});
  const MatrixView<Scalar> out = value(recorded);
  numbers(out) = numbers(in);
  kernels<Scalar>().tanh(out.size() / kLanes, out.data);
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    state_block(out.data, panel, in.columns) *=
        block(value(gates).data, panel, in.columns, kOutputGate);
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_lstm_output_gradient(Node& node) {
  Node& gates = operand(node, 0);
  Node& state = operand(node, 1);
  Scalar* const to_gates = gradient_to_add_to(gates);
  Scalar* const to_state = gradient_to_add_to(state);
  const MatrixView<Scalar> said = view(arena_.take(view(node.value, node).size()), node);
  numbers(said) = numbers(said, state.value);
  kernels<Scalar>().tanh(said.size() / kLanes, said.data);
  const std::size_t width = node.columns;
  for (std::size_t panel = 0; panel < said.panels(); ++panel) {
    const auto d = state_block(node.gradient, panel, width);
    const auto tanh = state_block(said.data, panel, width);
    if (to_gates != nullptr) {
      block(to_gates, panel, width, kOutputGate) += d * tanh;
    }
    if (to_state != nullptr) {
      state_block(to_state, panel, width) +=
          d * block(gates.value, panel, width, kOutputGate) * (1 - tanh.square());
    }
  }
}

template <class Scalar>
const Scalar* Tape<Scalar>::exponentials(Value value) {
  Node& node = nodes_[index(value)];
  if (node.exponentials == nullptr) {
    const MatrixView<Scalar> numbers = view(node.value, node);
    node.exponentials = arena_.take(numbers.size());
    kernels<Scalar>().exp_twice(numbers.size() / kLanes, node.value, node.exponentials);
  }
  return node.exponentials;
}

template <class Scalar>
Value Tape<Scalar>::attend(Value memory, Value query, LayerId id) {
  const Layer& layer = parameters_->layer(id);
  const MatrixView<Scalar> in = value(memory);
  const MatrixView<Scalar> asking = value(query);
  EMPLACE_CHECK(layer.inputs == in.columns && layer.outputs == 1 && asking.columns == in.columns,
                "{} columns of memory, {} of the query and {} by {} of layer {}", in.columns,
                asking.columns, layer.inputs, layer.outputs, layer.name);
  const Value recorded =
      record(Operation::kAttend, asking.rows, in.columns, std::array{memory, query});
  nodes_.back().layer = id;
  const std::size_t lanes = in.panels() * kLanes;
  Scalar* shares = arena_.take(asking.rows * lanes);
  nodes_.back().shares = shares;
  const MatrixView<Scalar> out = value(recorded);
  numbers(out).setZero();
  const AttentionArguments<Scalar> arguments{in.data, exponentials(memory),
                                             parameters_->values().data() + layer.offset,
                                             in.panels(), in.columns};
  const Scalar* const asked = exponentials(query);
  for (std::size_t row = 0; row < asking.rows; ++row, shares += lanes) {
    kernels<Scalar>().scores(arguments, asked + (asking.row(row) - asking.data), shares);
    set_shares(std::span(shares, in.rows), in.panels());
    kernels<Scalar>().mix(arguments, shares, out.row(row));
  }
  return recorded;
}

template <class Scalar>
Scalar Tape<Scalar>::attention(Value attended, std::size_t by, std::size_t of) const {
  const Node& node = nodes_[index(attended)];
  return node.shares[by * value(operands_[node.first_operand]).panels() * kLanes + of];
}

template <class Scalar>
void Tape<Scalar>::add_attention_gradient(Node& node, std::span<Scalar> gradient) {
  const Layer& layer = parameters_->layer(node.layer);
  Node& memory = operand(node, 0);
  Node& query = operand(node, 1);
  EMPLACE_CHECK(gradient_to_add_to(memory) != nullptr && gradient_to_add_to(query) != nullptr,
                "attention on or by an input");
  const MatrixView<Scalar> in = view(memory.value, memory);
  const std::size_t lanes = in.panels() * kLanes;
  const AttentionArguments<Scalar> arguments{in.data, memory.exponentials,
                                             parameters_->values().data() + layer.offset,
                                             in.panels(), in.columns};
  Scalar* const by_scores = arena_.take(lanes);
  for (std::size_t row = 0; row < node.rows; ++row) {
    kernels<Scalar>().attention_gradient(arguments, view(query.exponentials, query).row(row),
                                         node.shares + row * lanes,
                                         view(node.gradient, node).row(row),
                                         {.memory = memory.gradient,
                                          .weights = gradient.data() + layer.offset,
                                          .query = view(query.gradient, query).row(row),
                                          .scores = by_scores});
  }
}

#define EMPLACE_INSTANTIATE(Scalar)                                                   \
  template Value Tape<Scalar>::add_rows(Value, Value, std::span<const std::int32_t>); \
  template Value Tape<Scalar>::bound(Value, double, double);                          \
  template Value Tape<Scalar>::lstm_gates(Value);                                     \
  template Value Tape<Scalar>::lstm_state(Value, Value);                              \
  template Value Tape<Scalar>::lstm_output(Value, Value);                             \
  template Value Tape<Scalar>::attend(Value, Value, LayerId);                         \
  template Scalar Tape<Scalar>::attention(Value, std::size_t, std::size_t) const;     \
  template void Tape<Scalar>::add_added_rows_gradient(Node&);                         \
  template void Tape<Scalar>::add_bound_gradient(Node&);                              \
  template void Tape<Scalar>::add_lstm_gates_gradient(Node&);                         \
  template void Tape<Scalar>::add_lstm_state_gradient(Node&);                         \
  template void Tape<Scalar>::add_lstm_output_gradient(Node&);                        \
  template void Tape<Scalar>::add_attention_gradient(Node&, std::span<Scalar>)
EMPLACE_INSTANTIATE(float);
EMPLACE_INSTANTIATE(double);
#undef EMPLACE_INSTANTIATE

}  // namespace emplace::agents::nn

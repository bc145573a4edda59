// The operations of Tape for LSTM cells, attention and tanh clipping, forward and backward.

#include "elementwise.hpp"
#include "tape.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <array>

namespace emplace::agents::nn {
namespace {

// The column blocks of an LSTM's gates.
enum Gate : std::size_t { kInputGate, kForgetGate, kOutputGate, kCandidate, kNumGates };

// Returns the numbers of one gate in a panel, of which there are `count`.
template <class Scalar>
Scalar* gate_block(Scalar* gates, std::size_t panel, std::size_t count, Gate gate) {
  return gates + (panel * kNumGates + gate) * count;
}

// Replaces scores by their softmax, and the padding up to `lanes` by 0.
template <class Scalar>
void softmax_of_scores(std::span<Scalar> scores, std::size_t lanes) {
  const Scalar most = *std::ranges::max_element(scores);
  for (Scalar& score : scores) {
    score = (score - most) * Scalar{0.5};
  }
  std::fill(scores.data() + scores.size(), scores.data() + lanes, Scalar{0});
  kernels<Scalar>().exp_twice(scores.size(), scores.data(), scores.data());
  double sum = 0;
  for (const Scalar exponential : scores) {
    sum += exponential;
  }
  for (Scalar& score : scores) {
    score = static_cast<Scalar>(score / sum);
  }
  std::fill(scores.data() + scores.size(), scores.data() + lanes, Scalar{0});
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
  std::copy_n(in.data, in.size(), out.data);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Scalar* const added = from.row(static_cast<std::size_t>(rows[row]));
    Scalar* const to = out.row(row);
    for (std::size_t column = 0; column < out.columns; ++column) {
      to[column * out.lanes()] += added[column * from.lanes()];
    }
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_added_rows_gradient(Node& node) {
  const MatrixView<Scalar> from = view(node.gradient, node);
  if (Scalar* const to = gradient_to_add_to(operand(node, 0))) {
    add_map(
        from.size(), to, [](Scalar d) { return d; }, from.data);
  }
  Node& table = operand(node, 1);
  if (gradient_to_add_to(table) == nullptr) {
    return;
  }
  const MatrixView<Scalar> all = view(table.gradient, table);
  for (std::size_t row = 0; row < node.rows; ++row) {
    const Scalar* const added = from.row(row);
    Scalar* const to = all.row(static_cast<std::size_t>(actions_[node.first_action + row]));
    for (std::size_t column = 0; column < node.columns; ++column) {
      to[column * all.lanes()] += added[column * from.lanes()];
    }
  }
}

template <class Scalar>
Value Tape<Scalar>::tanh_clip(Value x, double scale, double limit) {
  const MatrixView<Scalar> in = value(x);
  const Value recorded = record(Operation::kTanhClip, in.rows, in.columns, {&x, 1});
  Node& node = nodes_.back();
  node.scale = static_cast<Scalar>(scale);
  node.limit = static_cast<Scalar>(limit);
  Scalar* const out = node.value;
  map(
      in.size(), out, [&](Scalar number) { return number / node.scale; }, in.data);
  kernels<Scalar>().tanh(in.size(), out);
  map(
      in.size(), out, [&](Scalar tanh) { return tanh * node.limit; }, out);
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_tanh_clip_gradient(Node& node) {
  if (Scalar* const to = gradient_to_add_to(operand(node))) {
    const Scalar slope = node.limit / node.scale;  // at 0
    const auto derivative = [&](Scalar d, Scalar y) {
      const Scalar tanh = y / node.limit;
      return d * slope * (1 - tanh * tanh);
    };
    add_map(view(node.value, node).size(), to, derivative, node.gradient, node.value);
  }
}

template <class Scalar>
Value Tape<Scalar>::lstm_gates(Value x) {
  const MatrixView<Scalar> in = value(x);
  EMPLACE_CHECK(in.columns % kNumGates == 0, "{} columns for gates", in.columns);
  const Value recorded = record(Operation::kLstmGates, in.rows, in.columns, {&x, 1});
  const MatrixView<Scalar> out = value(recorded);
  const std::size_t count = in.columns / kNumGates * in.lanes();
  // sigmoid x = (1 + tanh(x / 2)) / 2
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    for (const Gate gate : {kInputGate, kForgetGate, kOutputGate}) {
      const Scalar bias = gate == kForgetGate ? Scalar{1} : Scalar{0};
      map(
          count, gate_block(out.data, panel, count, gate),
          [&](Scalar number) { return (number + bias) * Scalar{0.5}; },
          gate_block(in.data, panel, count, gate));
    }
    std::copy_n(gate_block(in.data, panel, count, kCandidate), count,
                gate_block(out.data, panel, count, kCandidate));
  }
  kernels<Scalar>().tanh(out.size(), out.data);
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    for (const Gate gate : {kInputGate, kForgetGate, kOutputGate}) {
      Scalar* const block = gate_block(out.data, panel, count, gate);
      map(
          count, block, [](Scalar tanh) { return Scalar{0.5} + Scalar{0.5} * tanh; }, block);
    }
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_lstm_gates_gradient(Node& node) {
  Scalar* const to = gradient_to_add_to(operand(node));
  if (to == nullptr) {
    return;
  }
  const MatrixView<Scalar> y = view(node.value, node);
  const std::size_t count = node.columns / kNumGates * y.lanes();
  const auto add = [&](std::size_t panel, Gate gate, const auto& derivative) {
    add_map(count, gate_block(to, panel, count, gate), derivative,
            gate_block(node.gradient, panel, count, gate),
            gate_block(node.value, panel, count, gate));
  };
  for (std::size_t panel = 0; panel < y.panels(); ++panel) {
    for (const Gate gate : {kInputGate, kForgetGate, kOutputGate}) {
      add(panel, gate, [](Scalar d, Scalar sigmoid) { return d * sigmoid * (1 - sigmoid); });
    }
    add(panel, kCandidate, [](Scalar d, Scalar tanh) { return d * (1 - tanh * tanh); });
  }
}

template <class Scalar>
Value Tape<Scalar>::lstm_cell(Value gates, Value before) {
  const MatrixView<Scalar> in = value(before);
  EMPLACE_CHECK(value(gates).rows == in.rows && value(gates).columns == kNumGates * in.columns,
                "gates of {} columns for cells of {}", value(gates).columns, in.columns);
  const Value recorded =
      record(Operation::kLstmCell, in.rows, in.columns, std::array{gates, before});
  const MatrixView<Scalar> out = value(recorded);
  const std::size_t count = in.columns * in.lanes();
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    const auto gate = [&](Gate which) {
      return static_cast<const Scalar*>(gate_block(value(gates).data, panel, count, which));
    };
    map(
        count, out.data + panel * count,
        [](Scalar forget, Scalar cell, Scalar input, Scalar candidate) {
          return forget * cell + input * candidate;
        },
        gate(kForgetGate), in.data + panel * count, gate(kInputGate), gate(kCandidate));
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_lstm_cell_gradient(Node& node) {
  Node& gates = operand(node, 0);
  Node& before = operand(node, 1);
  Scalar* const to_gates = gradient_to_add_to(gates);
  Scalar* const to_before = gradient_to_add_to(before);
  const std::size_t count = node.columns * view(node.value, node).lanes();
  const auto product = [](Scalar d, Scalar other) { return d * other; };
  for (std::size_t panel = 0; panel < view(node.value, node).panels(); ++panel) {
    const Scalar* const d = node.gradient + panel * count;
    const auto gate = [&](Gate which) { return gate_block(gates.value, panel, count, which); };
    if (to_gates != nullptr) {
      const auto to = [&](Gate which) { return gate_block(to_gates, panel, count, which); };
      add_map(count, to(kForgetGate), product, d, before.value + panel * count);
      add_map(count, to(kInputGate), product, d, gate(kCandidate));
      add_map(count, to(kCandidate), product, d, gate(kInputGate));
    }
    if (to_before != nullptr) {
      add_map(count, to_before + panel * count, product, d, gate(kForgetGate));
    }
  }
}

template <class Scalar>
Value Tape<Scalar>::lstm_hidden(Value gates, Value cell) {
  const MatrixView<Scalar> in = value(cell);
  EMPLACE_CHECK(value(gates).rows == in.rows && value(gates).columns == kNumGates * in.columns,
                "gates of {} columns for cells of {}", value(gates).columns, in.columns);
  const Value recorded =
      record(Operation::kLstmHidden, in.rows, in.columns, std::array{gates, cell});
  const MatrixView<Scalar> out = value(recorded);
  std::copy_n(in.data, in.size(), out.data);
  kernels<Scalar>().tanh(out.size(), out.data);
  const std::size_t count = in.columns * in.lanes();
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    Scalar* const tanh = out.data + panel * count;
    map(
        count, tanh, [](Scalar number, Scalar gate) { return number * gate; }, tanh,
        gate_block(value(gates).data, panel, count, kOutputGate));
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_lstm_hidden_gradient(Node& node) {
  Node& gates = operand(node, 0);
  Node& cell = operand(node, 1);
  Scalar* const to_gates = gradient_to_add_to(gates);
  Scalar* const to_cell = gradient_to_add_to(cell);
  const std::size_t size = view(node.value, node).size();
  Scalar* const tanh = arena_.allocate(size);
  std::copy_n(cell.value, size, tanh);
  kernels<Scalar>().tanh(size, tanh);
  const std::size_t count = node.columns * view(node.value, node).lanes();
  for (std::size_t panel = 0; panel < view(node.value, node).panels(); ++panel) {
    const Scalar* const d = node.gradient + panel * count;
    if (to_gates != nullptr) {
      add_map(
          count, gate_block(to_gates, panel, count, kOutputGate),
          [](Scalar by, Scalar t) { return by * t; }, d, tanh + panel * count);
    }
    if (to_cell != nullptr) {
      add_map(
          count, to_cell + panel * count,
          [](Scalar by, Scalar gate, Scalar t) { return by * gate * (1 - t * t); }, d,
          gate_block(gates.value, panel, count, kOutputGate), tanh + panel * count);
    }
  }
}

template <class Scalar>
const Scalar* Tape<Scalar>::exponentials(Value value) {
  Node& node = nodes_[index(value)];
  if (node.exponentials == nullptr) {
    const std::size_t size = view(node.value, node).size();
    node.exponentials = arena_.allocate(size);
    kernels<Scalar>().exp_twice(size, node.value, node.exponentials);
  }
  return node.exponentials;
}

template <class Scalar>
Value Tape<Scalar>::attend(Value memory, Value query, LayerId id) {
  const Layer& layer = parameters_->layer(id);
  const MatrixView<Scalar> in = value(memory);
  const MatrixView<Scalar> queries = value(query);
  EMPLACE_CHECK(layer.inputs == in.columns && layer.outputs == 1 && queries.columns == in.columns,
                "{} columns of memory, {} of the query and {} by {} of layer {}", in.columns,
                queries.columns, layer.inputs, layer.outputs, layer.name);
  EMPLACE_CHECK(in.layout == Layout::kColumns && queries.layout == Layout::kRows,
                "the memory of attention is in columns, and the query in rows");
  const Value recorded = record(Operation::kAttend, queries.rows, in.columns,
                                std::array{memory, query}, queries.layout);
  nodes_.back().layer = id;
  const std::size_t lanes = in.lanes();
  Scalar* weights = arena_.allocate(queries.rows * lanes);
  nodes_.back().attention_weights = weights;
  const MatrixView<Scalar> out = value(recorded);
  std::fill_n(out.data, out.size(), Scalar{0});
  const AttentionArguments<Scalar> arguments{in.data, exponentials(memory),
                                             parameters_->values().data() + layer.offset,
                                             in.lanes(), in.columns};
  const Scalar* const query_exponentials = exponentials(query);
  for (std::size_t row = 0; row < queries.rows; ++row, weights += lanes) {
    kernels<Scalar>().scores(arguments, query_exponentials + row * in.columns, weights);
    softmax_of_scores(std::span(weights, in.rows), lanes);
    kernels<Scalar>().weighted_sum(arguments, weights, out.row(row));
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::add_attention_gradient(Node& node, std::span<Scalar> gradient) {
  const Layer& layer = parameters_->layer(node.layer);
  Node& memory = operand(node, 0);
  Node& query = operand(node, 1);
  EMPLACE_CHECK(gradient_to_add_to(memory) != nullptr && gradient_to_add_to(query) != nullptr,
                "attention on or by an input");
  const MatrixView<Scalar> in = view(memory.value, memory);
  const AttentionArguments<Scalar> arguments{in.data, memory.exponentials,
                                             parameters_->values().data() + layer.offset,
                                             in.lanes(), in.columns};
  kernels<Scalar>().attention_gradient(arguments, node.rows, query.exponentials,
                                       node.attention_weights, node.gradient,
                                       {.memory = memory.gradient,
                                        .weights = gradient.data() + layer.offset,
                                        .query = query.gradient,
                                        .scores = arena_.allocate(kQueries * in.lanes())});
}

#define EMPLACE_INSTANTIATE(Scalar)                                                   \
  template Value Tape<Scalar>::add_rows(Value, Value, std::span<const std::int32_t>); \
  template Value Tape<Scalar>::tanh_clip(Value, double, double);                      \
  template Value Tape<Scalar>::lstm_gates(Value);                                     \
  template Value Tape<Scalar>::lstm_cell(Value, Value);                               \
  template Value Tape<Scalar>::lstm_hidden(Value, Value);                             \
  template Value Tape<Scalar>::attend(Value, Value, LayerId);                         \
  template void Tape<Scalar>::add_added_rows_gradient(Node&);                         \
  template void Tape<Scalar>::add_tanh_clip_gradient(Node&);                          \
  template void Tape<Scalar>::add_lstm_gates_gradient(Node&);                         \
  template void Tape<Scalar>::add_lstm_cell_gradient(Node&);                          \
  template void Tape<Scalar>::add_lstm_hidden_gradient(Node&);                        \
  template void Tape<Scalar>::add_attention_gradient(Node&, std::span<Scalar>)
EMPLACE_INSTANTIATE(float);
EMPLACE_INSTANTIATE(double);
#undef EMPLACE_INSTANTIATE

}  // namespace emplace::agents::nn

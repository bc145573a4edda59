#pragma once

// Reverse-mode differentiation of small networks over graphs. A pass writes down what it computes:
//
//     Tape<float> tape(parameters);
//     const Value x = tape.input(num_nodes, num_features);   // fill tape.value(x)
//     const Value y = tape.affine(x, layer, Activation::kRelu);
//     const Value p = tape.log_probability(y, actions);
//     tape.seed(p)(row, 0) = -advantage;                     // d loss / d p
//     tape.backward(gradient);                               // adds d loss / d parameters
//     tape.clear();
//
// Rows are nodes, or nodes of several steps side by side (`lanes`), or steps. All values of a pass
// stay until clear(); their memory is used again by the next pass, so that in the steady state
// nothing is allocated. Results are the same bits on any machine (kernels.hpp, elementary.hpp). A
// tape belongs to one thread; many may share the parameters.
//
// Scalar is float in agents; in tests it is double, in which finite differences check every
// operation.

#include "activation.hpp"
#include "arena.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "parameters.hpp"
#include "row_sums.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents::nn {

/// Names a matrix of the present pass.
struct Value {
  std::int32_t index = -1;
};

/// What keeps log p finite in the entropy (Placeto's code).
inline constexpr double kEntropyOffset = 1e-3;

/// Sets `probabilities` to the softmax of the numbers that stand `stride` apart from `logits` on.
template <class Scalar>
void softmax(const Scalar* logits, std::size_t stride, std::span<double> probabilities);

/// Records a pass and differentiates it; see the head of this file.
template <class Scalar>
class Tape {
 public:
  /// Starts an empty tape. Requires: `parameters` outlives it.
  explicit Tape(const Parameters<Scalar>& parameters) : parameters_(&parameters) {}

  /// Returns a matrix of zeros to be filled through value().
  Value input(std::size_t rows, std::size_t columns);

  /// Returns activation(x W + b).
  Value affine(Value x, LayerId layer, Activation activation);

  /// Returns activation(x).
  Value activate(Value x, Activation activation);

  /// Returns, row by row, sums of rows of the sources, which have the same columns. With `lanes` =
  /// 2, 4, 8 or 16 each row of `sums` stands for as many rows one after the other. A sum or mean of
  /// nothing is 0. Requires: `sums` lives until clear().
  Value sum_rows(std::span<const Value> sources, const RowSums& sums, std::size_t lanes = 1,
                 Combine combine = Combine::kSum);

  /// Returns the parts side by side.
  Value concat(std::span<const Value> parts);

  /// Returns log softmax(row)[action of the row], a column.
  Value log_probability(Value logits, std::span<const std::int32_t> actions);

  /// Returns -sum p log(p + kEntropyOffset) of each row's p = softmax(row), a column.
  Value entropy(Value logits);

  /// Returns, for each row, the mean of `worths` under the softmax of its logits. Requires: a worth
  /// for each logit, row after row.
  Value expectation(Value logits, std::span<const Scalar> worths);

  /// Returns x, each row plus the row of `table` that `rows` names for it.
  Value add_rows(Value x, Value table, std::span<const std::int32_t> rows);

  /// Returns most * tanh(x / scale): numbers between -most and most.
  Value bound(Value x, double scale, double most);

  /// Returns the gates of LSTM cells (Hochreiter, Schmidhuber 1997) from what flows into them, four
  /// times as wide as a cell's state: sigmoids of the input's, of the forget gate's plus 1 and of
  /// the output's, and tanh of what is new.
  Value lstm_gates(Value x);

  /// Returns what the cells hold: forget * before + input * new.
  Value lstm_state(Value gates, Value before);

  /// Returns what the cells say: output * tanh(state).
  Value lstm_output(Value gates, Value state);

  /// Returns for each row of `query` a mean of the rows of `memory`, weighted by the softmax over
  /// them of v . tanh(memory + query) (Bahdanau et al. 2015); `layer` has v as its only output, and
  /// its bias does nothing.
  Value attend(Value memory, Value query, LayerId layer);

  /// Returns the weight of row `of` of the memory in `attended` for row `by` of the query.
  Scalar attention(Value attended, std::size_t by, std::size_t of) const;

  /// Returns the numbers of `value`.
  MatrixView<Scalar> value(Value value) const { return view(nodes_[index(value)].value, value); }

  /// Returns the derivatives of the loss by `value`: zeros, to be set before backward().
  MatrixView<Scalar> seed(Value value);

  /// Adds the derivatives of the loss by all parameters to `gradient`, given those that were
  /// seeded.
  void backward(std::span<Scalar> gradient);

  /// Forgets the pass.
  void clear();

 private:
  enum class Operation : std::uint8_t {
    kInput,
    kAffine,
    kActivate,
    kSumRows,
    kConcat,
    kLogProbability,
    kEntropy,
    kExpectation,
    kAddRows,
    kBound,
    kLstmGates,
    kLstmState,
    kLstmOutput,
    kAttend,
  };

  struct Node {
    Operation operation;
    std::size_t rows;
    std::size_t columns;
    Scalar* value;
    Scalar* gradient = nullptr;  // null: the loss does not depend on it, as far as is known
    std::size_t first_operand = 0;
    std::size_t num_operands = 0;
    LayerId layer = 0;
    Activation activation = Activation::kNone;
    const RowSums* sums = nullptr;
    std::size_t lanes = 1;
    Combine combine = Combine::kSum;
    std::size_t first_action = 0;  // or worth, or row of a table
    Scalar scale = 1;              // of a bound
    Scalar most = 1;
    Scalar* shares = nullptr;  // of the memory's rows, for one row of the query after the other
    Scalar* exponentials = nullptr;  // e to twice each number, where attention needs it
  };

  static std::size_t index(Value value) { return static_cast<std::size_t>(value.index); }
  Node& operand(const Node& node, std::size_t i = 0) {
    return nodes_[index(operands_[node.first_operand + i])];
  }
  MatrixView<Scalar> view(Scalar* data, Value value) const {
    return {data, nodes_[index(value)].rows, nodes_[index(value)].columns};
  }
  static MatrixView<Scalar> view(Scalar* data, const Node& node) {
    return {data, node.rows, node.columns};
  }

  Value record(Operation operation, std::size_t rows, std::size_t columns,
               std::span<const Value> operands);
  LayerArguments<Scalar> layer_arguments(const Layer& layer, std::size_t panels) const {
    return {parameters_->values().data() + layer.offset, layer.inputs, layer.outputs, panels};
  }

  // Returns the node's gradient, of zeros if it has none yet; null for inputs, which need none.
  Scalar* gradient_to_add_to(Node& node);

  void add_affine_gradient(Node& node);
  void add_weight_gradients(std::span<Scalar> gradient);
  void add_activation_gradient(Node& node);
  void add_row_sums_gradient(Node& node);
  void add_concat_gradient(Node& node);
  void add_log_probability_gradient(Node& node);
  void add_entropy_gradient(Node& node);
  void add_expectation_gradient(Node& node);
  void add_added_rows_gradient(Node& node);
  void add_bound_gradient(Node& node);
  void add_lstm_gates_gradient(Node& node);
  void add_lstm_state_gradient(Node& node);
  void add_lstm_output_gradient(Node& node);
  void add_attention_gradient(Node& node, std::span<Scalar> gradient);

  // Returns e to twice each number of `value`, taken at the first call.
  const Scalar* exponentials(Value value);

  const Parameters<Scalar>* parameters_;
  Arena<Scalar> arena_;
  std::vector<Node> nodes_;
  std::vector<Value> operands_;
  std::vector<std::int32_t> actions_;
  std::vector<Scalar> worths_;
  std::vector<double> probabilities_;                        // of one row
  std::vector<MatrixView<Scalar>> views_;                    // of the sources of a sum
  std::vector<std::pair<LayerId, std::size_t>> layer_uses_;  // by backward(): nodes by layer
};

}  // namespace emplace::agents::nn

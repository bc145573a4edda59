#pragma once

// Reverse-mode automatic differentiation of small networks over graphs. The forward pass records
// its operations on a tape:
//
//     Tape<float> tape(parameters);
//     const Value x = tape.input(num_nodes, num_features);   // fill tape.value(x)
//     const Value y = tape.affine(x, layer, Activation::kRelu);
//     const Value p = tape.log_probability(y, actions);
//     tape.seed(p)(row, 0) = -advantage;                     // d loss / d p
//     tape.backward(gradient);                               // adds d loss / d parameters
//     tape.clear();
//
// Rows are nodes, or nodes of several steps interleaved (`lanes`), or steps. What is computed from
// a matrix has its layout, where nothing else is said. All values of a pass live until clear(), and
// the parameters stay as they are. The next pass reuses their memory, so nothing is allocated in
// the steady state. Results are the same bits on any machine (kernels.hpp, elementary.hpp). A tape
// belongs to one thread; many tapes may share the parameters.
//
// Scalar is float in agents. In tests it is double, so that finite differences can check every
// operation.

#include "arena.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "parameters.hpp"
#include "segment_sum.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::nn {

/// Identifies a matrix of the present pass.
struct Value {
  std::int32_t index = -1;
};

/// Names what follows an affine layer.
enum class Activation : std::uint8_t { kNone, kRelu };

/// Keeps log p finite in the entropy, as in Placeto's released code.
inline constexpr double kEntropyOffset = 1e-3;

/// Sets `probabilities` to the softmax of `logits`, which are `stride` apart in memory.
template <class Scalar>
void softmax(const Scalar* logits, std::size_t stride, std::span<double> probabilities);

/// Records a pass and differentiates it; see the head of this file.
template <class Scalar>
class Tape {
 public:
  /// Starts an empty tape. Requires: `parameters` outlives it.
  explicit Tape(const Parameters<Scalar>& parameters) : parameters_(&parameters) {}

  /// Returns a matrix of zeros to be filled through value().
  Value input(std::size_t rows, std::size_t columns, Layout layout = Layout::kPanels);

  /// Returns a matrix that lies elsewhere and lives until clear(). No derivatives go to it.
  Value constant(const MatrixView<Scalar>& matrix);

  /// Returns activation(x W + b). Requires: x in panels or rows.
  Value affine(Value x, LayerId layer, Activation activation);

  /// Returns the segment sums (or means) of rows of the sources, which have the same columns; an
  /// empty segment gives 0. With `lanes` = 2, 4, 8 or 16 each row index means that many consecutive
  /// rows; then all matrices are in panels. Requires: matrices in panels or rows; `sums` lives
  /// until clear().
  Value segment_sum(std::span<const Value> sources, const SegmentSum& sums, std::size_t lanes = 1,
                    Combine combine = Combine::kSum, Layout layout = Layout::kPanels);

  /// Returns x in another layout.
  Value in_layout(Value x, Layout layout);

  /// Returns x + y. Requires: the same rows, columns and layout.
  Value add(Value x, Value y);

  /// Returns the columns of all parts, which have one layout, side by side.
  Value concat(std::span<const Value> parts);

  /// Returns log softmax(row)[action of the row], a column.
  Value log_probability(Value logits, std::span<const std::int32_t> actions);

  /// Returns -sum p log(p + kEntropyOffset) of each row's p = softmax(row), a column.
  Value entropy(Value logits);

  /// Returns x with row rows[i] of `table` added to each row i.
  Value add_rows(Value x, Value table, std::span<const std::int32_t> rows);

  /// Returns limit * tanh(x / scale), between -limit and limit (tanh clipping, Bello et al. 2017).
  Value tanh_clip(Value x, double scale, double limit);

  /// Returns the gates of LSTM cells (Hochreiter, Schmidhuber 1997) from their pre-activations `x`,
  /// which has 4 columns for each cell: the sigmoids of the input gate, of the forget gate (with 1
  /// added) and of the output gate, and the tanh of the candidate.
  Value lstm_gates(Value x);

  /// Returns the cell state c = forget * before + input * candidate.
  Value lstm_cell(Value gates, Value before);

  /// Returns the hidden state h = output * tanh(cell).
  Value lstm_hidden(Value gates, Value cell);

  /// Returns additive attention (Bahdanau et al. 2015): for each row of `query` the mean of the
  /// rows of `memory`, weighted by the softmax of the scores v . tanh(memory + query). The weights
  /// of `layer`, which has one output, are v; its bias has no effect. Requires: the memory in
  /// columns, the query in rows.
  Value attend(Value memory, Value query, LayerId layer);

  /// Returns the numbers of `value`.
  MatrixView<Scalar> value(Value value) const {
    const Node& node = nodes_[index(value)];
    return view(node.value, node);
  }

  /// Returns the derivatives of the loss with respect to `value`: zeros, to be set before
  /// backward().
  MatrixView<Scalar> seed(Value value);

  /// Adds the derivatives of the loss with respect to all parameters to `gradient`, by the chain
  /// rule from those that were seeded.
  void backward(std::span<Scalar> gradient);

  /// Removes all values of the pass.
  void clear();

 private:
  enum class Operation : std::uint8_t {
    kInput,
    kAffine,
    kSegmentSum,
    kInLayout,
    kAdd,
    kConcat,
    kLogProbability,
    kEntropy,
    kAddRows,
    kTanhClip,
    kLstmGates,
    kLstmCell,
    kLstmHidden,
    kAttend,
  };

  struct Node {
    Operation operation;
    Layout layout;
    std::size_t rows;
    std::size_t columns;
    Scalar* value;
    Scalar* gradient = nullptr;  // null: nothing has been added to it yet
    std::size_t first_operand = 0;
    std::size_t num_operands = 0;
    LayerId layer = 0;
    Activation activation = Activation::kNone;
    const SegmentSum* sums = nullptr;
    std::size_t lanes = 1;
    Combine combine = Combine::kSum;
    std::size_t first_action = 0;  // or row of a table
    Scalar scale = 1;              // of tanh clipping
    Scalar limit = 1;
    Scalar* attention_weights = nullptr;  // by row of the query, row of the memory
    Scalar* exponentials = nullptr;       // e^2x of each number x, where attention needs it
  };

  static std::size_t index(Value value) { return static_cast<std::size_t>(value.index); }
  Node& operand(const Node& node, std::size_t i = 0) {
    return nodes_[index(operands_[node.first_operand + i])];
  }
  static MatrixView<Scalar> view(Scalar* data, const Node& node) {
    return {data, node.rows, node.columns, node.layout};
  }

  // Records an operation with the layout of its first operand.
  Value record(Operation operation, std::size_t rows, std::size_t columns,
               std::span<const Value> operands) {
    return record(operation, rows, columns, operands, nodes_[index(operands.front())].layout);
  }
  Value record(Operation operation, std::size_t rows, std::size_t columns,
               std::span<const Value> operands, Layout layout);
  LayerArguments<Scalar> layer_arguments(const Layer& layer, std::size_t panels) const {
    return {parameters_->values().data() + layer.offset, layer.inputs, layer.outputs, panels};
  }

  // Returns the node's gradient, of zeros if it has none yet; null for inputs, which need none.
  Scalar* gradient_to_add_to(Node& node);

  // Weights that are packed for matrices in rows; those of x W, or of dy W^T.
  enum class Product : std::uint8_t { kForward, kBackward };

  // Returns the weights, packed at the first call of the pass.
  PackedWeights<Scalar> packed(LayerId id, Product product);

  struct LayerUse {
    LayerId layer;
    Layout layout;
    std::size_t node;
  };

  void add_affine_gradient(Node& node);
  void add_weight_gradients(std::span<Scalar> gradient);
  void add_weight_gradient(std::span<const LayerUse> uses, std::span<Scalar> gradient);
  void add_weight_gradient_of_rows(std::span<const LayerUse> uses, std::span<Scalar> gradient);
  void add_segment_sum_gradient(Node& node);
  void add_in_layout_gradient(Node& node);
  void add_sum_gradient(Node& node);
  void add_concat_gradient(Node& node);
  void add_log_probability_gradient(Node& node);
  void add_entropy_gradient(Node& node);
  void add_added_rows_gradient(Node& node);
  void add_tanh_clip_gradient(Node& node);
  void add_lstm_gates_gradient(Node& node);
  void add_lstm_cell_gradient(Node& node);
  void add_lstm_hidden_gradient(Node& node);
  void add_attention_gradient(Node& node, std::span<Scalar> gradient);

  // Returns e^2x of each number x of `value`, computed at the first call.
  const Scalar* exponentials(Value value);

  const Parameters<Scalar>* parameters_;
  Arena<Scalar> arena_;
  std::vector<Node> nodes_;
  std::vector<Value> operands_;
  std::vector<std::int32_t> actions_;
  std::vector<double> probabilities_;                 // of one row
  std::vector<MatrixView<Scalar>> views_;             // of the sources of a sum
  std::vector<LayerUse> layer_uses_;                  // by backward()
  std::vector<UseArguments<Scalar>> use_arguments_;   // of one layer
  std::array<std::vector<const Scalar*>, 2> packed_;  // by product, layer; null: not yet
};

}  // namespace emplace::agents::nn

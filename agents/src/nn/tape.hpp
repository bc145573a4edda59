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
    std::size_t first_action = 0;
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

  void add_affine_gradient(Node& node, std::span<Scalar> gradient);
  void add_activation_gradient(Node& node);
  void add_row_sums_gradient(Node& node);
  void add_concat_gradient(Node& node);
  void add_log_probability_gradient(Node& node);
  void add_entropy_gradient(Node& node);

  const Parameters<Scalar>* parameters_;
  Arena<Scalar> arena_;
  std::vector<Node> nodes_;
  std::vector<Value> operands_;
  std::vector<std::int32_t> actions_;
  std::vector<double> probabilities_;      // of one row
  std::vector<MatrixView<Scalar>> views_;  // of the sources of a sum
};

}  // namespace emplace::agents::nn

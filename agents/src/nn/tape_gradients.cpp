// The backward pass of Tape.

#include "elementwise.hpp"
#include "tape.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>

namespace emplace::agents::nn {
namespace {

// Copies a matrix in rows to one of zeros in lanes and blocks of columns (RowLanes), from row
// `first` of each lane on.
template <class Scalar>
void copy_to_lanes(MatrixView<Scalar> from, std::size_t first, const RowLanes& rows, Scalar* to) {
  for (std::size_t column = 0; column < from.columns; column += kLanes) {
    const std::size_t width = std::min(kLanes, from.columns - column);
    for (std::size_t lane = 0; lane < rows.lanes; ++lane, to += rows.rows * kLanes) {
      Scalar* at = to + first * kLanes;
      for (std::size_t row = lane; row < from.rows; row += kLanes, at += kLanes) {
        std::copy_n(from.row(row) + column, width, at);
      }
    }
  }
}

}  // namespace

template <class Scalar>
MatrixView<Scalar> Tape<Scalar>::seed(Value value) {
  Node& node = nodes_[index(value)];
  return view(gradient_to_add_to(node), node);
}

template <class Scalar>
Scalar* Tape<Scalar>::gradient_to_add_to(Node& node) {
  if (node.operation != Operation::kInput && node.gradient == nullptr) {
    const std::size_t size = view(node.value, node).size();
    node.gradient = arena_.allocate(size);
    std::fill_n(node.gradient, size, Scalar{0});
  }
  return node.gradient;
}

template <class Scalar>
void Tape<Scalar>::backward(std::span<Scalar> gradient) {
  EMPLACE_CHECK(gradient.size() == parameters_->values().size(),
                "a gradient of {} numbers for {} parameters", gradient.size(),
                parameters_->values().size());
  layer_uses_.clear();
  for (std::size_t at = nodes_.size(); at-- > 0;) {
    Node& node = nodes_[at];
    if (node.gradient == nullptr) {
      continue;
    }
    switch (node.operation) {
      case Operation::kInput:
        break;
      case Operation::kAffine:
        add_affine_gradient(node);
        layer_uses_.push_back({node.layer, node.layout, at});
        break;
      case Operation::kSegmentSum:
        add_segment_sum_gradient(node);
        break;
      case Operation::kInLayout:
        add_in_layout_gradient(node);
        break;
      case Operation::kAdd:
        add_sum_gradient(node);
        break;
      case Operation::kConcat:
        add_concat_gradient(node);
        break;
      case Operation::kLogProbability:
        add_log_probability_gradient(node);
        break;
      case Operation::kEntropy:
        add_entropy_gradient(node);
        break;
      case Operation::kAddRows:
        add_added_rows_gradient(node);
        break;
      case Operation::kTanhClip:
        add_tanh_clip_gradient(node);
        break;
      case Operation::kLstmGates:
        add_lstm_gates_gradient(node);
        break;
      case Operation::kLstmCell:
        add_lstm_cell_gradient(node);
        break;
      case Operation::kLstmHidden:
        add_lstm_hidden_gradient(node);
        break;
      case Operation::kAttend:
        add_attention_gradient(node, gradient);
        break;
    }
  }
  add_weight_gradients(gradient);
}

template <class Scalar>
void Tape<Scalar>::add_affine_gradient(Node& node) {
  const Layer& layer = parameters_->layer(node.layer);
  const MatrixView<Scalar> y = view(node.value, node);
  Node& x = operand(node);
  if (node.activation == Activation::kRelu) {
    map(
        y.size(), node.gradient, [](Scalar d, Scalar at) { return at > 0 ? d : Scalar{0}; },
        node.gradient, y.data);
  }
  if (x.operation == Operation::kInput) {
    return;
  }
  if (node.layout == Layout::kRows) {
    kernels<Scalar>().add_product(packed(node.layer, Product::kBackward), node.rows, node.gradient,
                                  gradient_to_add_to(x));
    return;
  }
  const bool is_first = x.gradient == nullptr;
  if (is_first) {
    x.gradient = arena_.allocate(view(x.value, x).size());
  }
  kernels<Scalar>().input_gradient(layer_arguments(layer, y.panels()), node.gradient, !is_first,
                                   x.gradient);
}

template <class Scalar>
void Tape<Scalar>::add_weight_gradients(std::span<Scalar> gradient) {
  std::ranges::sort(layer_uses_, [](const LayerUse& a, const LayerUse& b) {
    return std::tie(a.layer, a.layout, a.node) < std::tie(b.layer, b.layout, b.node);
  });
  for (auto first = layer_uses_.begin(); first != layer_uses_.end();) {
    const auto last = std::find_if(first, layer_uses_.end(), [&](const LayerUse& use) {
      return use.layer != first->layer || use.layout != first->layout;
    });
    if (first->layout == Layout::kRows) {
      add_weight_gradient_of_rows({first, last}, gradient);
    } else {
      add_weight_gradient({first, last}, gradient);
    }
    first = last;
  }
}

template <class Scalar>
void Tape<Scalar>::add_weight_gradient(std::span<const LayerUse> uses, std::span<Scalar> gradient) {
  const Layer& layer = parameters_->layer(uses.front().layer);
  use_arguments_.clear();
  for (const LayerUse& use : uses) {
    const Node& node = nodes_[use.node];
    use_arguments_.push_back({operand(node).value, node.gradient, view(node.value, node).panels()});
  }
  kernels<Scalar>().weight_gradient(layer_arguments(layer, 0), use_arguments_.data(),
                                    use_arguments_.size(), gradient.data() + layer.offset,
                                    gradient.data() + layer.bias_offset());
}

template <class Scalar>
void Tape<Scalar>::add_weight_gradient_of_rows(std::span<const LayerUse> uses,
                                               std::span<Scalar> gradient) {
  const Layer& layer = parameters_->layer(uses.front().layer);
  RowLanes rows{1, 0};
  for (const LayerUse& use : uses) {
    const std::size_t count = nodes_[use.node].rows;
    rows.lanes = std::max(rows.lanes, std::min(kLanes, std::bit_ceil(count)));
    rows.rows += (count + kLanes - 1) / kLanes;
  }
  const auto zeros = [&](std::size_t columns) {
    const std::size_t size = (columns + kLanes - 1) / kLanes * kLanes * rows.lanes * rows.rows;
    Scalar* const numbers = arena_.allocate(size);
    std::fill_n(numbers, size, Scalar{0});
    return numbers;
  };
  Scalar* const x = zeros(layer.inputs);
  Scalar* const dy = zeros(layer.outputs);
  std::size_t first = 0;
  for (const LayerUse& use : uses) {
    const Node& node = nodes_[use.node];
    const Node& in = operand(node);
    copy_to_lanes(view(in.value, in), first, rows, x);
    copy_to_lanes(view(node.gradient, node), first, rows, dy);
    first += (node.rows + kLanes - 1) / kLanes;
  }
  kernels<Scalar>().weight_gradient_of_rows(layer_arguments(layer, 0), rows, x, dy,
                                            gradient.data() + layer.offset,
                                            gradient.data() + layer.bias_offset());
}

template <class Scalar>
void Tape<Scalar>::add_segment_sum_gradient(Node& node) {
  views_.clear();
  for (std::size_t i = 0; i < node.num_operands; ++i) {
    Node& source = operand(node, i);
    views_.push_back(view(gradient_to_add_to(source), source));
  }
  add_segment_sum_gradients<Scalar>(*node.sums, node.lanes, node.combine, view(node.gradient, node),
                                    views_);
}

template <class Scalar>
void Tape<Scalar>::add_in_layout_gradient(Node& node) {
  Node& x = operand(node);
  if (gradient_to_add_to(x) == nullptr) {
    return;
  }
  const MatrixView<Scalar> from = view(node.gradient, node);
  const MatrixView<Scalar> to = view(x.gradient, x);
  for (std::size_t column = 0; column < node.columns; ++column) {
    for (std::size_t row = 0; row < node.rows; ++row) {
      to(row, column) += from(row, column);
    }
  }
}

template <class Scalar>
void Tape<Scalar>::add_sum_gradient(Node& node) {
  const std::size_t size = view(node.value, node).size();
  for (std::size_t i = 0; i < node.num_operands; ++i) {
    if (Scalar* const gradient = gradient_to_add_to(operand(node, i))) {
      std::transform(gradient, gradient + size, node.gradient, gradient, std::plus<>());
    }
  }
}

template <class Scalar>
void Tape<Scalar>::add_concat_gradient(Node& node) {
  const MatrixView<Scalar> from = view(node.gradient, node);
  std::size_t first_column = 0;
  for (std::size_t i = 0; i < node.num_operands; ++i) {
    Node& part = operand(node, i);
    if (Scalar* const to = gradient_to_add_to(part)) {
      const std::size_t count = part.columns * from.lanes();
      for (std::size_t panel = 0; panel < from.panels(); ++panel) {
        add_map(
            count, to + panel * count, [](Scalar d) { return d; },
            from.data + (panel * from.columns + first_column) * from.lanes());
      }
    }
    first_column += part.columns;
  }
}

template <class Scalar>
void Tape<Scalar>::add_log_probability_gradient(Node& node) {
  Node& logits = operand(node);
  if (gradient_to_add_to(logits) == nullptr) {
    return;
  }
  const MatrixView<Scalar> in = view(logits.value, logits);
  const MatrixView<Scalar> to = view(logits.gradient, logits);
  probabilities_.resize(logits.columns);
  for (std::size_t row = 0; row < node.rows; ++row) {
    const double d = view(node.gradient, node)(row, 0);
    softmax<Scalar>(in.row(row), in.lanes(), probabilities_);
    const auto action = static_cast<std::size_t>(actions_[node.first_action + row]);
    for (std::size_t i = 0; i < logits.columns; ++i) {
      to(row, i) += static_cast<Scalar>(d * ((i == action ? 1.0 : 0.0) - probabilities_[i]));
    }
  }
}

template <class Scalar>
void Tape<Scalar>::add_entropy_gradient(Node& node) {
  Node& logits = operand(node);
  if (gradient_to_add_to(logits) == nullptr) {
    return;
  }
  const MatrixView<Scalar> in = view(logits.value, logits);
  const MatrixView<Scalar> to = view(logits.gradient, logits);
  probabilities_.resize(logits.columns);
  // dH/dp = -log(p + o) - p / (p + o); the derivative of the softmax subtracts its mean under p.
  const auto by_probability = [](double p) {
    return -log_of(p + kEntropyOffset) - p / (p + kEntropyOffset);
  };
  for (std::size_t row = 0; row < node.rows; ++row) {
    const double d = view(node.gradient, node)(row, 0);
    softmax<Scalar>(in.row(row), in.lanes(), probabilities_);
    double mean = 0;
    for (const double p : probabilities_) {
      mean += p * by_probability(p);
    }
    for (std::size_t i = 0; i < logits.columns; ++i) {
      const double p = probabilities_[i];
      to(row, i) += static_cast<Scalar>(d * p * (by_probability(p) - mean));
    }
  }
}

template MatrixView<float> Tape<float>::seed(Value);
template void Tape<float>::backward(std::span<float>);
template MatrixView<double> Tape<double>::seed(Value);
template void Tape<double>::backward(std::span<double>);

}  // namespace emplace::agents::nn

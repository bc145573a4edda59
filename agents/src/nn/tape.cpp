#include "tape.hpp"

#include "elementwise.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <array>
#include <functional>

namespace emplace::agents::nn {
template <class Scalar>
void softmax(const Scalar* logits, std::size_t stride, std::span<double> probabilities) {
  double most = logits[0];
  for (std::size_t i = 1; i < probabilities.size(); ++i) {
    most = std::max<double>(most, logits[i * stride]);
  }
  double sum = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] = exp_of(logits[i * stride] - most);
    sum += probabilities[i];
  }
  for (double& probability : probabilities) {
    probability /= sum;
  }
}

template <class Scalar>
Value Tape<Scalar>::record(Operation operation, std::size_t rows, std::size_t columns,
                           std::span<const Value> operands, Layout layout) {
  const MatrixView<Scalar> shape{nullptr, rows, columns, layout};
  nodes_.push_back({.operation = operation,
                    .layout = layout,
                    .rows = rows,
                    .columns = columns,
                    .value = arena_.allocate(shape.size()),
                    .first_operand = operands_.size(),
                    .num_operands = operands.size()});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  return {static_cast<std::int32_t>(nodes_.size() - 1)};
}

template <class Scalar>
Value Tape<Scalar>::input(std::size_t rows, std::size_t columns, Layout layout) {
  const Value recorded = record(Operation::kInput, rows, columns, {}, layout);
  const MatrixView<Scalar> zeros = value(recorded);
  std::fill_n(zeros.data, zeros.size(), Scalar{0});
  return recorded;
}

template <class Scalar>
Value Tape<Scalar>::constant(const MatrixView<Scalar>& matrix) {
  const Value recorded = record(Operation::kInput, 0, 0, {}, matrix.layout);
  Node& node = nodes_.back();
  node.rows = matrix.rows;
  node.columns = matrix.columns;
  node.value = matrix.data;
  return recorded;
}

template <class Scalar>
Value Tape<Scalar>::affine(Value x, LayerId id, Activation activation) {
  const Layer& layer = parameters_->layer(id);
  const MatrixView<Scalar> in = value(x);
  EMPLACE_CHECK(in.columns == layer.inputs && in.layout != Layout::kColumns,
                "{} columns, in panels or rows, for layer {} of {} inputs", in.columns, layer.name,
                layer.inputs);
  const Value recorded = record(Operation::kAffine, in.rows, layer.outputs, {&x, 1});
  nodes_.back().layer = id;
  nodes_.back().activation = activation;
  const bool relu = activation == Activation::kRelu;
  if (in.layout == Layout::kRows) {
    const MatrixView<Scalar> out = value(recorded);
    for (std::size_t row = 0; row < out.rows; ++row) {
      std::copy_n(parameters_->values().data() + layer.bias_offset(), out.columns, out.row(row));
    }
    kernels<Scalar>().add_product(packed(id, Product::kForward), in.rows, in.data, out.data);
    if (relu) {
      map(
          out.size(), out.data, [](Scalar number) { return number > 0 ? number : Scalar{0}; },
          out.data);
    }
    return recorded;
  }
  kernels<Scalar>().affine(layer_arguments(layer, in.panels()), in.data,
                           parameters_->values().data() + layer.bias_offset(), relu,
                           value(recorded).data);
  return recorded;
}

template <class Scalar>
PackedWeights<Scalar> Tape<Scalar>::packed(LayerId id, Product product) {
  const Layer& layer = parameters_->layer(id);
  const bool is_forward = product == Product::kForward;
  const std::size_t inputs = is_forward ? layer.inputs : layer.outputs;
  const std::size_t outputs = is_forward ? layer.outputs : layer.inputs;
  std::vector<const Scalar*>& weights = packed_[static_cast<std::size_t>(product)];
  weights.resize(std::max(weights.size(), id + 1));
  if (weights[id] == nullptr) {
    const Scalar* const from = parameters_->values().data() + layer.offset;
    const std::size_t down = is_forward ? outputs : 1;  // from one input to the next
    const std::size_t across = is_forward ? 1 : inputs;
    const std::size_t tiles = (outputs + kLanes - 1) / kLanes;
    Scalar* to = arena_.allocate(tiles * kLanes * inputs);
    weights[id] = to;
    for (std::size_t first = 0; first < outputs; first += kLanes) {
      const std::size_t width = std::min(kLanes, outputs - first);
      for (std::size_t input = 0; input < inputs; ++input, to += kLanes) {
        for (std::size_t i = 0; i < width; ++i) {
          to[i] = from[input * down + (first + i) * across];
        }
        std::fill(to + width, to + kLanes, Scalar{0});
      }
    }
  }
  return {weights[id], inputs, outputs};
}

template <class Scalar>
Value Tape<Scalar>::segment_sum(std::span<const Value> sources, const SegmentSum& sums,
                                std::size_t lanes, Combine combine, Layout layout) {
  EMPLACE_DCHECK(lanes > 0 && kLanes % lanes == 0, "{} lanes", lanes);
  const Value recorded = record(Operation::kSegmentSum, sums.rows() * lanes,
                                value(sources.front()).columns, sources, layout);
  Node& node = nodes_.back();
  node.sums = &sums;
  node.lanes = lanes;
  node.combine = combine;
  views_.clear();
  for (const Value source : sources) {
    views_.push_back(value(source));
  }
  nn::segment_sum<Scalar>(sums, lanes, combine, views_, value(recorded));
  return recorded;
}

template <class Scalar>
Value Tape<Scalar>::in_layout(Value x, Layout layout) {
  const MatrixView<Scalar> in = value(x);
  const Value recorded = record(Operation::kInLayout, in.rows, in.columns, {&x, 1}, layout);
  const MatrixView<Scalar> out = value(recorded);
  std::fill_n(out.data, out.size(), Scalar{0});
  for (std::size_t column = 0; column < in.columns; ++column) {
    for (std::size_t row = 0; row < in.rows; ++row) {
      out(row, column) = in(row, column);
    }
  }
  return recorded;
}

template <class Scalar>
Value Tape<Scalar>::add(Value x, Value y) {
  const MatrixView<Scalar> in = value(x);
  EMPLACE_DCHECK(value(y).layout == in.layout, "a sum of unlike layouts");
  const Value recorded = record(Operation::kAdd, in.rows, in.columns, std::array{x, y});
  std::transform(in.data, in.data + in.size(), value(y).data, value(recorded).data, std::plus<>());
  return recorded;
}

template <class Scalar>
Value Tape<Scalar>::concat(std::span<const Value> parts) {
  std::size_t columns = 0;
  for (const Value part : parts) {
    EMPLACE_DCHECK(value(part).layout == value(parts.front()).layout, "parts of unlike layouts");
    columns += value(part).columns;
  }
  const Value recorded = record(Operation::kConcat, value(parts.front()).rows, columns, parts);
  const MatrixView<Scalar> out = value(recorded);
  for (std::size_t panel = 0; panel < out.panels(); ++panel) {
    Scalar* to = out.data + panel * out.lanes() * columns;
    for (const Value part : parts) {
      const std::size_t count = value(part).columns * out.lanes();
      to = std::copy_n(value(part).data + panel * count, count, to);
    }
  }
  return recorded;
}

template <class Scalar>
Value Tape<Scalar>::log_probability(Value logits, std::span<const std::int32_t> actions) {
  const MatrixView<Scalar> in = value(logits);
  const Value recorded = record(Operation::kLogProbability, in.rows, 1, {&logits, 1});
  nodes_.back().first_action = actions_.size();
  actions_.insert(actions_.end(), actions.begin(), actions.end());
  probabilities_.resize(in.columns);
  const MatrixView<Scalar> out = value(recorded);
  std::fill_n(out.data, out.size(), Scalar{0});
  for (std::size_t row = 0; row < in.rows; ++row) {
    softmax<Scalar>(in.row(row), in.lanes(), probabilities_);
    const double chosen = probabilities_[static_cast<std::size_t>(actions[row])];
    out(row, 0) = static_cast<Scalar>(log_of(std::max(chosen, 1e-300)));
  }
  return recorded;
}

template <class Scalar>
Value Tape<Scalar>::entropy(Value logits) {
  const MatrixView<Scalar> in = value(logits);
  const Value recorded = record(Operation::kEntropy, in.rows, 1, {&logits, 1});
  probabilities_.resize(in.columns);
  const MatrixView<Scalar> out = value(recorded);
  std::fill_n(out.data, out.size(), Scalar{0});
  for (std::size_t row = 0; row < in.rows; ++row) {
    softmax<Scalar>(in.row(row), in.lanes(), probabilities_);
    double sum = 0;
    for (const double p : probabilities_) {
      sum -= p * log_of(p + kEntropyOffset);
    }
    out(row, 0) = static_cast<Scalar>(sum);
  }
  return recorded;
}

template <class Scalar>
void Tape<Scalar>::clear() {
  nodes_.clear();
  operands_.clear();
  actions_.clear();
  for (std::vector<const Scalar*>& weights : packed_) {
    weights.clear();
  }
  arena_.clear();
}

template void softmax(const float*, std::size_t, std::span<double>);
template void softmax(const double*, std::size_t, std::span<double>);
template class Tape<float>;
template class Tape<double>;

}  // namespace emplace::agents::nn

// Gradients of layers that join, cut and reorder.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"

#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace emplace {
namespace {

void concat(GradientStep& step) {
  Op op = step.make_op("split", "grad");
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    op.outputs.push_back(like(step.input_value(i)));
  }
  Tensor part = step.emit(std::move(op), {step.gradient()});
  for (std::size_t i = 0; i < step.num_inputs(); ++i, ++part.output) {
    step.give(i, part);
  }
}

// The parts' gradients are joined again. A part that nothing reads has a gradient of zeros.
void split(GradientStep& step) {
  const Op forward = step.op();
  std::vector<Tensor> parts;
  for (std::int32_t i = 0; i < std::ssize(forward.outputs); ++i) {
    if (step.has_gradient(i)) {
      parts.push_back(step.gradient(i));
    } else {
      Op zeros = step.make_op("zeros", fmt::format("grad_part_{}", i));
      zeros.outputs = {like(forward.outputs[index_of(i)])};
      zeros.shape = zeros.outputs[0].shape;
      parts.push_back(step.emit(std::move(zeros), {}));
    }
  }
  Op op = step.make_op("concat", "grad");
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), parts));
}

void reshape(GradientStep& step) {
  Op op = step.make_op("reshape", "grad");
  op.shape = step.input_value(0).shape;
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), {step.gradient()}));
}

// The inverse permutation.
void transpose(GradientStep& step) {
  const Output value = step.input_value(0);
  const auto rank = value.shape.size();
  Op op = step.make_op("transpose", "grad");
  op.shape = step.op().outputs[0].shape;
  for (std::int64_t axis = 0; axis < std::ssize(value.shape); ++axis) {
    std::size_t position = 0;
    while (step.dimension(rank + position) != axis) {
      ++position;
    }
    op.shape.push_back(static_cast<std::int64_t>(position));
  }
  op.outputs = {like(value)};
  step.give(0, step.emit(std::move(op), {step.gradient()}));
}

constexpr std::array kShapeRules = {
    NamedRule{"concat", concat},
    NamedRule{"reshape", reshape},
    NamedRule{"split", split},
    NamedRule{"transpose", transpose},
};

}  // namespace

std::span<const NamedRule> shape_rules() { return kShapeRules; }

}  // namespace emplace

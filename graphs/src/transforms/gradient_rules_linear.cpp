// Gradients of layers on rows of numbers.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// Says whether the rows of a tensor have another length.
bool has_other_rows(const Output& value, std::int64_t columns) {
  return value.shape.empty() || value.shape.back() != columns;
}

// C = A B with A of M x K and B of K x N: dA = dC B^T, dB = A^T dC. A side that is stored
// transposed wants its gradient transposed: dA^T = B dC^T, dB^T = dC^T A. Of a batch of products
// alike.
void matmul(GradientStep& step) {
  const Op forward = step.op();
  const bool is_batch = forward.kind == "batch_matmul";
  const std::size_t first = is_batch ? 1 : 0;
  const auto m = step.dimension(first);
  const auto n = step.dimension(first + 1);
  const auto k = step.dimension(first + 2);
  const auto give = [&](std::size_t i, std::string_view suffix, std::vector<std::int64_t> shape) {
    Op op = step.make_op(forward.kind, suffix);
    if (is_batch) {
      shape.insert(shape.begin(), step.dimension(0));
    }
    op.shape = std::move(shape);
    op.flops = forward.flops;
    op.outputs = {like(step.input_value(i))};
    step.give(i, step.emit(std::move(op), {step.gradient(), step.input(1 - i)}));
  };
  // Where a side is square, both ways have the same shape.
  if (step.wants(1)) {
    const bool transposed = has_other_rows(step.input_value(1), n);
    give(1, "grad_right", transposed ? std::vector{n, k, m} : std::vector{k, n, m});
  }
  if (step.wants(0)) {
    const bool transposed = has_other_rows(step.input_value(0), k);
    give(0, "grad_left", transposed ? std::vector{k, m, n} : std::vector{m, k, n});
  }
}

void bias_add(GradientStep& step) {
  step.give(0, step.gradient());
  if (step.wants(1)) {
    Op op = step.make_op("bias_add_backward", "grad_bias");
    op.flops = elements(step) - product(step.input_value(1).shape);
    op.outputs = {like(step.input_value(1))};
    step.give(1, step.emit(std::move(op), {step.gradient()}));
  }
}

// Each side's gradient is a sum over products of the result's gradient and the other sides.
void einsum(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    if (step.wants(i)) {
      Op op = step.make_op("einsum", fmt::format("grad_{}", i));
      op.flops = step.op().flops;
      op.outputs = {like(step.input_value(i))};
      std::vector<Tensor> inputs{step.gradient()};
      for (std::size_t k = 0; k < step.num_inputs(); ++k) {
        if (k != i) {
          inputs.push_back(step.input(k));
        }
      }
      step.give(i, step.emit(std::move(op), inputs));
    }
  }
}

// dx = y (dy - sum of y dy over the row).
void softmax(GradientStep& step) {
  give_unary(step, "softmax_backward", product({4, elements(step)}),
             {step.gradient(), step.output(0)});
}

// dx = (probabilities - one at the label) times the loss's constant gradient over N.
void softmax_cross_entropy(GradientStep& step) {
  step.expect_constant_gradient();
  const auto rows = step.dimension(0);
  give_unary(step, "softmax_cross_entropy_backward", sum({elements(step), rows}),
             {step.output(1), step.input(1)});
}

constexpr std::array kLinearRules = {
    NamedRule{"batch_matmul", matmul}, NamedRule{"bias_add", bias_add},
    NamedRule{"einsum", einsum},       NamedRule{"matmul", matmul},
    NamedRule{"softmax", softmax},     NamedRule{"softmax_cross_entropy", softmax_cross_entropy},
};

}  // namespace

std::span<const NamedRule> linear_rules() { return kLinearRules; }

}  // namespace emplace

// Gradients of layers that choose, and of losses against numbers.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"

#include <emplace/base/id_vector.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// Weights' gradients go to the probabilities that were chosen, zeros to the others.
void top_k(GradientStep& step) {
  give_unary(step, "top_k_backward", 0, {step.gradient(), step.output(1)});
}

// A token's gradient is the sum of those of its copies.
void dispatch(GradientStep& step) {
  const Op forward = step.op();
  std::vector<Tensor> inputs;
  for (std::int32_t i = 0; index_of(i) < forward.outputs.size(); ++i) {
    if (step.has_gradient(i)) {
      inputs.push_back(step.gradient(i));
    }
  }
  inputs.push_back(step.input(1));
  Op op = step.make_op("moe_dispatch_backward", "grad");
  op.flops = product({step.dimension(2) - 1, elements(step)});
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), inputs));
}

// A result's gradient is the token's times its weight, a weight's the product of the token's
// gradient and the result.
void combine(GradientStep& step) {
  const std::size_t experts = step.num_inputs() - 2;
  Op op = step.make_op("moe_combine_backward", "grad");
  op.flops = product({3, step.dimension(2), product(step.op().outputs[0].shape)});
  std::vector<Tensor> inputs{step.gradient()};
  for (std::size_t i = 0; i < experts + 2; ++i) {
    inputs.push_back(step.input(i));
  }
  for (std::size_t i = 0; i <= experts; ++i) {
    op.outputs.push_back(like(step.input_value(i)));
  }
  Tensor gradient = step.emit(std::move(op), inputs);
  for (std::size_t i = 0; i <= experts; ++i, ++gradient.output) {
    step.give(i, gradient);
  }
}

// Every probability's gradient is its expert's share of the tokens times a constant.
void balance_loss(GradientStep& step) {
  step.expect_constant_gradient();
  give_unary(step, "balance_loss_backward",
             sum({product(step.input_value(1).shape), step.dimension(1)}), {step.input(1)});
}

// Only the rows that were looked up have a gradient; they are not spread over a whole table.
void embedding_bag(GradientStep& step) {
  Op op = step.make_op("embedding_bag_backward", "grad");
  const Output table = step.input_value(0);
  op.outputs = {make_output({product({step.dimension(0), step.dimension(1)}), step.dimension(3)},
                            table.type)};
  step.give(0, step.emit(std::move(op), {step.gradient(), step.input(1)}));
}

// The triangle's gradients among zeros.
void lower_triangle(GradientStep& step) {
  give_unary(step, "lower_triangle_backward", 0, {step.gradient()});
}

// dx = (sigmoid(x) - y) / N.
void sigmoid_cross_entropy(GradientStep& step) {
  step.expect_constant_gradient();
  give_unary(step, "sigmoid_cross_entropy_backward", product({3, elements(step)}),
             {step.input(0), step.input(1)});
}

// dx = (x - y) 2 / N.
void mean_squared_error(GradientStep& step) {
  step.expect_constant_gradient();
  give_unary(step, "mean_squared_error_backward", product({2, elements(step)}),
             {step.input(0), step.input(1)});
}

constexpr std::array kRoutingRules = {
    NamedRule{"balance_loss", balance_loss},
    NamedRule{"embedding_bag", embedding_bag},
    NamedRule{"lower_triangle", lower_triangle},
    NamedRule{"mean_squared_error", mean_squared_error},
    NamedRule{"moe_combine", combine},
    NamedRule{"moe_dispatch", dispatch},
    NamedRule{"sigmoid_cross_entropy", sigmoid_cross_entropy},
    NamedRule{"top_k", top_k},
};

}  // namespace

std::span<const NamedRule> routing_rules() { return kRoutingRules; }

}  // namespace emplace

// Gradients of what treats each number by itself, and of sums.

#include "assemble.hpp"
#include "gradient_rules.hpp"

#include <array>
#include <utility>

namespace emplace {
namespace {

// A sum hands its gradient to each term.
void pass_on(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    step.give(i, step.gradient());
  }
}

void relu(GradientStep& step) {
  give_unary(step, "relu_backward", elements(step), {step.gradient(), step.output(0)});
}

// dx = dy (1 - y y).
void tanh(GradientStep& step) {
  give_unary(step, "tanh_backward", product({3, elements(step)}),
             {step.gradient(), step.output(0)});
}

// dx = dy y (1 - y).
void sigmoid(GradientStep& step) {
  give_unary(step, "sigmoid_backward", product({3, elements(step)}),
             {step.gradient(), step.output(0)});
}

void scale(GradientStep& step) { give_unary(step, "scale", elements(step), {step.gradient()}); }

// da = dy; db = -dy.
void subtract(GradientStep& step) {
  step.give(0, step.gradient());
  if (step.wants(1)) {
    Op op = step.make_op("scale", "grad_right");
    op.flops = elements(step);
    op.outputs = {like(step.input_value(1))};
    step.give(1, step.emit(std::move(op), {step.gradient()}));
  }
}

// da = dy b; db = dy a.
void multiply(GradientStep& step) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (step.wants(i)) {
      Op op = step.make_op("multiply", i == 0 ? "grad_left" : "grad_right");
      op.flops = elements(step);
      op.outputs = {like(step.input_value(i))};
      step.give(i, step.emit(std::move(op), {step.gradient(), step.input(1 - i)}));
    }
  }
}

void dropout(GradientStep& step) {
  give_unary(step, "dropout_backward", elements(step), {step.gradient(), step.output(1)});
}

constexpr std::array kRules = {
    NamedRule{"add", pass_on},     NamedRule{"add_losses", pass_on},
    NamedRule{"dropout", dropout}, NamedRule{"multiply", multiply},
    NamedRule{"relu", relu},       NamedRule{"scale", scale},
    NamedRule{"sigmoid", sigmoid}, NamedRule{"subtract", subtract},
    NamedRule{"tanh", tanh},
};

}  // namespace

std::span<const NamedRule> elementwise_rules() { return kRules; }

}  // namespace emplace

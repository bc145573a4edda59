// Gradients of what treats each number by itself, and of sums.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

namespace emplace {
namespace {

// A sum hands its gradient to each term.
void pass_on(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    step.give(i, step.gradient());
  }
}

// Of terms that were broadcast alike.
void broadcast_add(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    give_reduced(step, i, step.gradient(), i == 0 ? "grad_left" : "grad_right");
  }
}

// Adds an elementwise op on tensors of the result's shape, of which one may be broadcast.
Tensor emit_like_result(GradientStep& step, std::string_view kind, std::string_view suffix,
                        std::int64_t flops_per_element, std::initializer_list<Tensor> inputs) {
  const Output result = step.op().outputs[0];
  Op op = step.make_op(kind, suffix);
  op.flops = product({flops_per_element, product(result.shape)});
  op.shape = {product(result.shape)};
  op.outputs = {like(result)};
  return step.emit(std::move(op), inputs);
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

// da = dy; db = -dy. Where the left side is a constant, there is a right side only.
void subtract(GradientStep& step) {
  const std::size_t right = step.num_inputs() - 1;
  if (right > 0) {
    give_reduced(step, 0, step.gradient(), "grad_left");
  }
  if (step.wants(right)) {
    give_reduced(step, right, emit_like_result(step, "scale", "grad_right", 1, {step.gradient()}),
                 "grad_right");
  }
}

// Says whether an input has another shape than the result.
bool is_broadcast(const GradientStep& step, std::size_t index) {
  return step.input_value(index).shape != step.op().outputs[0].shape;
}

// da = dy b; db = dy a.
void multiply(GradientStep& step) {
  if (step.num_inputs() == 1) {  // the other side is a constant
    return give_reduced(step, 0, emit_like_result(step, "scale", "grad", 1, {step.gradient()}),
                        "grad");
  }
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (step.wants(i)) {
      const std::string_view suffix = i == 0 ? "grad_left" : "grad_right";
      give_reduced(
          step, i,
          emit_like_result(step, is_broadcast(step, 1 - i) ? "broadcast_multiply" : "multiply",
                           suffix, 1, {step.gradient(), step.input(1 - i)}),
          suffix);
    }
  }
}

// With y = a / b: da = dy / b; db = -dy y / b. A constant left side is a reciprocal.
void div(GradientStep& step) {
  if (step.num_inputs() == 1) {
    return give_reduced(step, 0, emit_like_result(step, "scale", "grad", 1, {step.gradient()}),
                        "grad");
  }
  if (step.wants(0)) {
    give_reduced(step, 0,
                 emit_like_result(step, is_broadcast(step, 1) ? "broadcast_div" : "div",
                                  "grad_left", 1, {step.gradient(), step.input(1)}),
                 "grad_left");
  }
  if (step.wants(1)) {
    give_reduced(step, 1,
                 emit_like_result(step, "div_backward", "grad_right", 3,
                                  {step.gradient(), step.output(0), step.input(1)}),
                 "grad_right");
  }
}

// With y = a^b: da = dy b y / a; db = dy y log(a). A constant exponent is a setting.
void power(GradientStep& step) {
  if (step.wants(0)) {
    give_reduced(step, 0,
                 emit_like_result(step, "pow_backward", "grad", 3,
                                  {step.gradient(), step.input(0), step.output(0)}),
                 "grad");
  }
  if (step.num_inputs() > 1 && step.wants(1)) {
    give_reduced(step, 1,
                 emit_like_result(step, "pow_backward", "grad_right", 3,
                                  {step.gradient(), step.input(0), step.output(0)}),
                 "grad_right");
  }
}

// The gradient goes to the inputs whose number was taken, zero to the others.
void extreme(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    if (step.wants(i)) {
      const std::string suffix = fmt::format("grad_{}", i);
      give_reduced(step, i,
                   emit_like_result(step, "max_backward", suffix, 1,
                                    {step.gradient(), step.input(i), step.output(0)}),
                   suffix);
    }
  }
}

// The flags, if they are no setting, say which side each number's gradient goes to.
void where(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    if (!step.wants(i)) {
      continue;
    }
    const std::string suffix = fmt::format("grad_{}", i);
    const bool has_flags = step.input_value(0).type == DataType::kBool;
    give_reduced(step, i,
                 has_flags
                     ? emit_like_result(step, "where", suffix, 0, {step.gradient(), step.input(0)})
                     : emit_like_result(step, "where", suffix, 0, {step.gradient()}),
                 suffix);
  }
}

// With the slope a where x is negative: dx = dy or a dy; da = the sum of dy x there.
void prelu(GradientStep& step) {
  if (step.wants(0)) {
    step.give_by_op(0, "prelu_backward", "grad", elements(step),
                    {step.gradient(), step.input(0), step.input(1)});
  }
  if (step.num_inputs() > 1 && step.wants(1)) {
    give_reduced(
        step, 1,
        emit_like_result(step, "prelu_backward", "grad_slope", 2, {step.gradient(), step.input(0)}),
        "grad_slope");
  }
}

void dropout(GradientStep& step) {
  give_unary(step, "dropout_backward", elements(step), {step.gradient(), step.output(1)});
}

constexpr std::array kElementwiseRules = {
    NamedRule{"add", pass_on},
    NamedRule{"add_losses", pass_on},
    NamedRule{"broadcast_add", broadcast_add},
    NamedRule{"broadcast_div", div},
    NamedRule{"broadcast_max", extreme},
    NamedRule{"broadcast_min", extreme},
    NamedRule{"broadcast_multiply", multiply},
    NamedRule{"broadcast_pow", power},
    NamedRule{"broadcast_subtract", subtract},
    NamedRule{"div", div},
    NamedRule{"dropout", dropout},
    NamedRule{"max", extreme},
    NamedRule{"min", extreme},
    NamedRule{"multiply", multiply},
    NamedRule{"pow", power},
    NamedRule{"prelu", prelu},
    NamedRule{"relu", relu},
    NamedRule{"scale", scale},
    NamedRule{"sigmoid", sigmoid},
    NamedRule{"subtract", subtract},
    NamedRule{"sum", broadcast_add},
    NamedRule{"tanh", tanh},
    NamedRule{"where", where},
};

}  // namespace

std::span<const NamedRule> elementwise_rules() { return kElementwiseRules; }

}  // namespace emplace

// Gradients of layers on feature maps.

#include "assemble.hpp"
#include "gradient_rules.hpp"

#include <array>
#include <utility>

namespace emplace {
namespace {

// dx = dy * w, transposed; dw = x * dy.
void conv2d(GradientStep& step) {
  const Op forward = step.op();
  if (step.wants(1)) {
    Op op = step.make_op("conv2d_backward_filter", "grad_filter");
    op.flops = forward.flops;
    op.outputs = {like(step.input_value(1))};
    step.give(1, step.emit(std::move(op), {step.gradient(), step.input(0)}));
  }
  if (step.wants(0)) {
    Op op = step.make_op("conv2d_backward_data", "grad_data");
    op.flops = forward.flops;
    op.outputs = {like(step.input_value(0))};
    step.give(0, step.emit(std::move(op), {step.gradient(), step.input(1)}));
  }
}

// dscale = sum dy xhat, doffset = sum dy; dx = a dy + b x + c with constants of the channel. Both
// passes read x and dy.
void batch_norm(GradientStep& step) {
  Op op = step.make_op("batch_norm_backward", "grad");
  op.flops = product({9, elements(step)});
  op.bytes_read = product({2, step.input_value(0).bytes});
  op.outputs = {like(step.input_value(0)), like(step.input_value(1))};
  const Tensor dx =
      step.emit(std::move(op), {step.gradient(), step.input(0), step.input(1), step.output(1)});
  step.give(0, dx);
  step.give(1, {dx.op, 1});
}

// Each result's gradient goes to the largest element of its window, which is searched again.
void max_pool(GradientStep& step) {
  const Op forward = step.op();
  const auto results = product(forward.outputs[0].shape);
  give_unary(step, "max_pool_backward", sum({forward.flops, product({2, results})}),
             {step.gradient(), step.input(0), step.output(0)});
}

// Each result's gradient, divided by the window's size, is added to every element of its window.
void avg_pool(GradientStep& step) {
  const Op forward = step.op();
  const auto results = product(forward.outputs[0].shape);
  give_unary(step, "avg_pool_backward", sum({forward.flops, results}), {step.gradient()});
}

constexpr std::array kRules = {
    NamedRule{"avg_pool", avg_pool},
    NamedRule{"batch_norm", batch_norm},
    NamedRule{"conv2d", conv2d},
    NamedRule{"max_pool", max_pool},
};

}  // namespace

std::span<const NamedRule> convolution_rules() { return kRules; }

}  // namespace emplace

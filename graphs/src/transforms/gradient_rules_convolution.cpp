// Gradients of layers on feature maps.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace emplace {
namespace {

// dx = dy * w, transposed; dw = x * dy.
void conv2d(GradientStep& step) {
  const auto flops = step.op().flops;
  step.give_by_op(1, "conv2d_backward_filter", "grad_filter", flops,
                  {step.gradient(), step.input(0)});
  step.give_by_op(0, "conv2d_backward_data", "grad_data", flops, {step.gradient(), step.input(1)});
}

// Convolutions over maps of any number of dimensions, in groups of channels or not, and their
// transposes.
void any_conv(GradientStep& step) {
  const Op forward = step.op();
  step.give_by_op(1, fmt::format("{}_backward_filter", forward.kind), "grad_filter", forward.flops,
                  {step.gradient(), step.input(0)});
  step.give_by_op(0, fmt::format("{}_backward_data", forward.kind), "grad_data", forward.flops,
                  {step.gradient(), step.input(1)});
}

void depthwise_conv2d(GradientStep& step) {
  const auto flops = step.op().flops;
  step.give_by_op(1, "depthwise_conv2d_backward_filter", "grad_filter", flops,
                  {step.gradient(), step.input(0)});
  step.give_by_op(0, "depthwise_conv2d_backward_data", "grad_data", flops,
                  {step.gradient(), step.input(1)});
}

// The transpose y = w^T x of a convolution with filters w: dx = w * dy, that convolution itself,
// and dw = dy * x.
void conv2d_transpose(GradientStep& step) {
  const auto flops = step.op().flops;
  step.give_by_op(1, "conv2d_backward_filter", "grad_filter", flops,
                  {step.input(0), step.gradient()});
  step.give_by_op(0, "conv2d", "grad_data", flops, {step.gradient(), step.input(1)});
}

// dscale = sum dy xhat, doffset = sum dy; dx = a dy + b x + c with constants of the channel. Both
// passes read x and dy.
void batch_norm(GradientStep& step) {
  give_norm(step, "batch_norm_backward", 9, product({2, step.input_value(0).bytes}));
}

// Each result's gradient goes to the largest element of its window, which is searched again.
void max_pool(GradientStep& step) {
  const Op forward = step.op();
  const auto results = product(forward.outputs[0].shape);
  step.give_by_op(0, fmt::format("{}_backward", forward.kind), "grad",
                  sum({forward.flops, product({2, results})}),
                  {step.gradient(), step.input(0), step.output(0)});
}

// Each result's gradient, divided by the window's size, is added to every element of its window.
void avg_pool(GradientStep& step) {
  const Op forward = step.op();
  const auto results = product(forward.outputs[0].shape);
  step.give_by_op(0, fmt::format("{}_backward", forward.kind), "grad",
                  sum({forward.flops, results}), {step.gradient()});
}

// The sums of squares, and those of the gradients' products with the results.
void lrn(GradientStep& step) {
  step.give_by_op(0, "lrn_backward", "grad", product({2, step.op().flops}),
                  {step.gradient(), step.input(0), step.output(0)});
}

void shift2d(GradientStep& step) {
  step.give_by_op(0, "shift2d_backward", "grad", 0, {step.gradient()});
}

constexpr std::array kConvolutionRules = {
    NamedRule{"avg_pool", avg_pool},
    NamedRule{"avg_pool_nd", avg_pool},
    NamedRule{"batch_norm", batch_norm},
    NamedRule{"conv", any_conv},
    NamedRule{"conv2d", conv2d},
    NamedRule{"conv2d_transpose", conv2d_transpose},
    NamedRule{"depthwise_conv2d", depthwise_conv2d},
    NamedRule{"conv_transpose", any_conv},
    NamedRule{"grouped_conv", any_conv},
    NamedRule{"lrn", lrn},
    NamedRule{"max_pool", max_pool},
    NamedRule{"max_pool_nd", max_pool},
    NamedRule{"shift2d", shift2d},
};

}  // namespace

std::span<const NamedRule> convolution_rules() { return kConvolutionRules; }

}  // namespace emplace

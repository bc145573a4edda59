// Gradients of layers on feature maps.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"

#include <array>
#include <utility>

namespace emplace {
namespace {

// dx = dy * w, transposed; dw = x * dy.
void conv(GradientStep& step) {
  step.give_by_operator(1, "conv_backward_filter", "grad_filter", {step.gradient(), step.input(0)});
  step.give_by_operator(0, "conv_backward_data", "grad_data", {step.gradient(), step.input(1)});
}

// The transpose y = w^T x of a convolution with filters w: dx = w * dy, that convolution itself,
// and dw = dy * x.
void conv_transpose(GradientStep& step) {
  step.give_by_operator(1, "conv_backward_filter", "grad_filter", {step.input(0), step.gradient()});
  step.give_by_operator(0, "conv", "grad_data", {step.gradient(), step.input(1)});
}

// dscale = sum dy xhat, doffset = sum dy; dx = a dy + b x + c with constants of the channel. Both
// passes read x and dy.
void batch_norm(GradientStep& step) {
  give_norm(step, "batch_norm_backward", 9, product({2, step.input_value(0).bytes}));
}

void max_pool(GradientStep& step) {
  step.give_by_operator(0, "max_pool_backward", "grad",
                        {step.gradient(), step.input(0), step.output(0)});
}

void avg_pool(GradientStep& step) {
  step.give_by_operator(0, "avg_pool_backward", "grad", {step.gradient()});
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
    NamedRule{"avg_pool", avg_pool},     NamedRule{"avg_pool_nd", avg_pool},
    NamedRule{"batch_norm", batch_norm}, NamedRule{"conv", conv},
    NamedRule{"conv2d", conv},           NamedRule{"conv2d_transpose", conv_transpose},
    NamedRule{"depthwise_conv2d", conv}, NamedRule{"conv_transpose", conv_transpose},
    NamedRule{"grouped_conv", conv},     NamedRule{"lrn", lrn},
    NamedRule{"max_pool", max_pool},     NamedRule{"max_pool_nd", max_pool},
    NamedRule{"shift2d", shift2d},
};

}  // namespace

std::span<const NamedRule> convolution_rules() { return kConvolutionRules; }

}  // namespace emplace

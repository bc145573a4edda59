// Gradients of layers of transformers.

#include "assemble.hpp"
#include "gradient_rules.hpp"

#include <array>
#include <utility>

namespace emplace {
namespace {

// One op for the gradients of the input and of what scales it; it reads the statistics of the rows.
void give_norm(GradientStep& step, std::string_view kind, std::int64_t flops_per_element) {
  Op op = step.make_op(kind, "grad");
  op.flops = product({flops_per_element, elements(step)});
  op.outputs = {like(step.input_value(0)), like(step.input_value(1))};
  const Tensor dx =
      step.emit(std::move(op), {step.gradient(), step.input(0), step.input(1), step.output(1)});
  step.give(0, dx);
  step.give(1, {dx.op, 1});
}

// With xhat = (x - mean) / deviation (2): doffset = sum dy (1), dscale = sum dy xhat (2),
// g = dy scale (1), sums of g and of g xhat over the row (3), and
// dx = (g - mean g - xhat mean(g xhat)) / deviation (4).
void layer_norm(GradientStep& step) { give_norm(step, "layer_norm_backward", 13); }

// The same without offset and mean: xhat (1), dscale (2), g (1), sum of g xhat (2), dx (3).
void rms_norm(GradientStep& step) { give_norm(step, "rms_norm_backward", 9); }

// dx = dy (P(x) + x p(x)) with P = (1 + erf(x / sqrt 2)) / 2 (4), p = exp(-x x / 2) / sqrt(2 pi)
// (4), and a product, a sum and a product.
void gelu(GradientStep& step) {
  give_unary(step, "gelu_backward", product({11, elements(step)}),
             {step.gradient(), step.input(0)});
}

// dx = dy s (1 + x (1 - s)) with s = sigmoid(x).
void silu(GradientStep& step) {
  give_unary(step, "silu_backward", product({6, elements(step)}), {step.gradient(), step.input(0)});
}

// The rotation back.
void rotary_embedding(GradientStep& step) {
  const Op forward = step.op();
  Op op = step.make_op("rotary_embedding", "grad");
  op.flops = forward.flops;
  op.bytes_read = product({step.dimension(1), step.dimension(2), size_of(forward.outputs[0].type)});
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), {step.gradient()}));
}

// Softmax made zeros where the mask is, so their gradient is zero as it comes.
void causal_mask(GradientStep& step) { step.give(0, step.gradient()); }

// The shift back.
void relative_shift(GradientStep& step) {
  give_unary(step, "relative_shift", 0, {step.gradient()});
}

// Zeros around the block.
void slice(GradientStep& step) { give_unary(step, "slice_backward", 0, {step.gradient()}); }

// The sum over the copies.
void broadcast(GradientStep& step) {
  give_unary(step, "broadcast_backward", product({step.dimension(0) - 1, elements(step)}),
             {step.gradient()});
}

constexpr std::array kRules = {
    NamedRule{"broadcast", broadcast},
    NamedRule{"causal_mask", causal_mask},
    NamedRule{"gelu", gelu},
    NamedRule{"layer_norm", layer_norm},
    NamedRule{"relative_shift", relative_shift},
    NamedRule{"rms_norm", rms_norm},
    NamedRule{"rotary_embedding", rotary_embedding},
    NamedRule{"silu", silu},
    NamedRule{"slice", slice},
};

}  // namespace

std::span<const NamedRule> attention_rules() { return kRules; }

}  // namespace emplace

// Gradients of layers of transformers.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"
#include "model/element_type.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// With xhat = (x - mean) / deviation (2): doffset = sum dy (1), dscale = sum dy xhat (2),
// g = dy scale (1), sums of g and of g xhat over the row (3), and
// dx = (g - mean g - xhat mean(g xhat)) / deviation (4).
void layer_norm(GradientStep& step) { give_norm(step, "layer_norm_backward", 13); }

void group_norm(GradientStep& step) {
  give_norm(step, fmt::format("{}_backward", step.op().kind), 13);
}

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

// With scores s, weights p = softmax(s) and results y = p v: dv = p^T dy, dp = dy v^T, dq = ds k
// and dk = ds^T q: twice the products of the forward op.
void attention(GradientStep& step) {
  Op op = step.make_op("attention_backward", "grad");
  op.flops = product({2, step.op().flops});
  std::vector<Tensor> inputs{step.gradient()};
  std::vector<std::size_t> real;  // masks and positions have no gradient
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    inputs.push_back(step.input(i));
    if (is_floating(step.input_value(i).type)) {
      op.outputs.push_back(like(step.input_value(i)));
      real.push_back(i);
    }
  }
  Tensor gradient = step.emit(std::move(op), inputs);
  for (const std::size_t i : real) {
    step.give(i, gradient);
    ++gradient.output;
  }
}

constexpr std::array kAttentionRules = {
    NamedRule{"attention", attention},
    NamedRule{"broadcast", broadcast},
    NamedRule{"causal_mask", causal_mask},
    NamedRule{"gelu", gelu},
    NamedRule{"group_norm", group_norm},
    NamedRule{"instance_norm", group_norm},
    NamedRule{"layer_norm", layer_norm},
    NamedRule{"relative_shift", relative_shift},
    NamedRule{"rms_norm", rms_norm},
    NamedRule{"rotary_embedding", rotary_embedding},
    NamedRule{"silu", silu},
    NamedRule{"slice", slice},
};

}  // namespace

std::span<const NamedRule> attention_rules() { return kAttentionRules; }

}  // namespace emplace

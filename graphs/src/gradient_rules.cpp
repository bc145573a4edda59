#include "gradient_rules.hpp"

#include "assemble.hpp"

#include <emplace/graphs/error.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace emplace {

GradientStep::GradientStep(OpGraph& graph, OpId op, Tensor gradient,
                           const std::vector<bool>& wanted, std::vector<std::vector<Tensor>>& given)
    : graph_(graph), op_(op), gradient_(gradient), wanted_(wanted), given_(given) {
  for (const auto edge :
       boost::make_iterator_range(boost::in_edges(static_cast<std::size_t>(op), graph))) {
    if (graph[edge].output != Dependency::kControl) {
      inputs_.push_back({static_cast<OpId>(boost::source(edge, graph)), graph[edge].output});
    }
  }
}

Tensor GradientStep::input(std::size_t index) const {
  if (index >= inputs_.size()) {
    fail_arity("inputs", index);
  }
  return inputs_[index];
}

Tensor GradientStep::output(std::int32_t index) const {
  if (static_cast<std::size_t>(index) >= op().outputs.size()) {
    fail_arity("outputs", static_cast<std::size_t>(index));
  }
  return {op_, index};
}

std::int64_t GradientStep::dimension(std::size_t index) const {
  const auto shape = op().shape;
  if (index >= shape.size()) {
    fail_arity("entries in shape", index);
  }
  return shape[index];
}

void GradientStep::fail_arity(std::string_view what, std::size_t index) const {
  throw Error(ErrorCode::kFormat, fmt::format("op '{}' of kind {}: expected at least {} {}",
                                              op().name, op().kind, index + 1, what));
}

void GradientStep::expect_constant_gradient() const {
  if (gradient_.op != kConstantGradient.op) {
    fail_loss_misused(op().name);
  }
}

Output GradientStep::input_value(std::size_t index) const { return value_of(graph_, input(index)); }

bool GradientStep::wants(std::size_t index) const {
  return wanted_[static_cast<std::size_t>(input(index).op)];
}

Op GradientStep::make_op(std::string_view kind, std::string_view suffix) const {
  const Op forward = op();
  return {.name = fmt::format("{}/{}", forward.name, suffix),
          .kind = std::string(kind),
          .phase = Phase::kBackward,
          .shape = forward.shape,
          .scope = forward.scope};
}

Tensor GradientStep::emit(Op op, std::initializer_list<Tensor> inputs) {
  if (std::ranges::any_of(inputs, [](Tensor t) { return t.op == kConstantGradient.op; })) {
    fail_loss_misused(this->op().name);
  }
  return {append_op(graph_, std::move(op), inputs), 0};
}

void GradientStep::give(std::size_t index, Tensor gradient) {
  const Tensor receiver = input(index);
  if (!wants(index)) {
    return;
  }
  if (receiver.output != 0) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("op '{}': no gradient rule for its output {}",
                            graph_[static_cast<std::size_t>(receiver.op)].name, receiver.output));
  }
  given_[static_cast<std::size_t>(receiver.op)].push_back(gradient);
}

void fail_loss_misused(std::string_view name) {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("op '{}': a loss may only be added to other losses", name));
}

namespace {

Output like(const Output& value) { return make_output(value.shape, value.type); }

// The gradient of an op whose kernel reads `inputs` and makes the gradient of input 0.
void give_unary(GradientStep& step, std::string_view kind, std::int64_t flops,
                std::initializer_list<Tensor> inputs) {
  Op op = step.make_op(kind, "grad");
  op.flops = flops;
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), inputs));
}

std::int64_t elements(const GradientStep& step) { return product(step.input_value(0).shape); }

// A sum hands its gradient to each term.
void pass_on(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    step.give(i, step.gradient());
  }
}

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

void relu(GradientStep& step) {
  give_unary(step, "relu_backward", elements(step), {step.gradient(), step.output(0)});
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

// C = A B with A of M x K and B of K x N: dA = dC B^T, dB = A^T dC.
void matmul(GradientStep& step) {
  const Op forward = step.op();
  const auto m = step.dimension(0);
  const auto n = step.dimension(1);
  const auto k = step.dimension(2);
  if (step.wants(1)) {
    Op op = step.make_op("matmul", "grad_right");
    op.shape = {k, n, m};
    op.flops = forward.flops;
    op.outputs = {like(step.input_value(1))};
    step.give(1, step.emit(std::move(op), {step.gradient(), step.input(0)}));
  }
  if (step.wants(0)) {
    Op op = step.make_op("matmul", "grad_left");
    op.shape = {m, k, n};
    op.flops = forward.flops;
    op.outputs = {like(step.input_value(0))};
    step.give(0, step.emit(std::move(op), {step.gradient(), step.input(1)}));
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

void dropout(GradientStep& step) {
  give_unary(step, "dropout_backward", elements(step), {step.gradient(), step.output(1)});
}

void flatten(GradientStep& step) {
  Op op = step.make_op("flatten", "grad");
  op.shape = step.input_value(0).shape;
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), {step.gradient()}));
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

struct NamedRule {
  std::string_view kind;
  GradientRule rule;
};

constexpr std::array kRules = {
    NamedRule{"add", pass_on},       NamedRule{"add_losses", pass_on},
    NamedRule{"avg_pool", avg_pool}, NamedRule{"batch_norm", batch_norm},
    NamedRule{"bias_add", bias_add}, NamedRule{"concat", concat},
    NamedRule{"conv2d", conv2d},     NamedRule{"dropout", dropout},
    NamedRule{"flatten", flatten},   NamedRule{"matmul", matmul},
    NamedRule{"max_pool", max_pool}, NamedRule{"relu", relu},
    NamedRule{"softmax", softmax},   NamedRule{"softmax_cross_entropy", softmax_cross_entropy},
};

}  // namespace

GradientRule find_gradient_rule(std::string_view kind) {
  const auto found = std::ranges::find(kRules, kind, &NamedRule::kind);
  return found != kRules.end() ? found->rule : nullptr;
}

}  // namespace emplace

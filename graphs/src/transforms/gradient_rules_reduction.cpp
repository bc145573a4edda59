// Gradients of reductions, and of what repeats, places and picks numbers.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"
#include "model/element_type.hpp"

#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// Every term gets the sum's gradient.
void reduce_sum(GradientStep& step) { give_unary(step, "expand", 0, {step.gradient()}); }

// The same, divided by the number of terms.
void reduce_mean(GradientStep& step) {
  give_unary(step, "reduce_mean_backward", elements(step), {step.gradient()});
}

// The gradient goes where the largest number was, which is looked for again.
void reduce_extreme(GradientStep& step) {
  give_unary(step, "reduce_max_backward", elements(step),
             {step.gradient(), step.input(0), step.output(0)});
}

// For each number x of a row with result y: dy sign(x), dy x / y, dy 2 x, dy / x.
void reduce_powers(GradientStep& step) {
  give_unary(step, fmt::format("{}_backward", step.op().kind), product({2, elements(step)}),
             {step.gradient(), step.input(0), step.output(0)});
}

// dy exp(x - y) and dy y / x.
void reduce_products(GradientStep& step) {
  give_unary(step, fmt::format("{}_backward", step.op().kind), product({3, elements(step)}),
             {step.gradient(), step.input(0), step.output(0)});
}

// dx = dy - exp(y) sum of dy over the row.
void log_softmax(GradientStep& step) {
  give_unary(step, "log_softmax_backward", product({4, elements(step)}),
             {step.gradient(), step.output(0)});
}

// The sums from the other end.
void cum_sum(GradientStep& step) { give_unary(step, "cum_sum", elements(step), {step.gradient()}); }

// The gradients of all copies are added up.
void repeat(GradientStep& step) {
  const Output result = step.op().outputs[0];
  const std::int64_t count = product(result.shape);
  if (!step.wants(0)) {
    return;
  }
  Op op = step.make_op("reduce_sum", "grad");
  op.shape = {count, elements(step)};
  op.flops = count - elements(step);
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), {step.gradient()}));
}

// The part of the gradient that the input became.
void pad(GradientStep& step) {
  if (step.wants(0)) {
    Op op = step.make_op("slice", "grad");
    const std::int64_t whole = product(step.op().outputs[0].shape);
    op.shape = {elements(step), whole};
    const Output value = step.input_value(0);
    op.bytes_read = std::min<std::int64_t>(value.bytes - step.op().outputs[0].bytes, 0);
    op.outputs = {like(value)};
    step.give(0, step.emit(std::move(op), {step.gradient()}));
  }
}

// Numbers go back to where they were taken from. What says where is no real number.
void place_back(GradientStep& step) {
  const std::string kind = fmt::format("{}_backward", step.op().kind);
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    if (!step.wants(i)) {
      continue;
    }
    Op op = step.make_op(kind, i == 0 ? "grad" : fmt::format("grad_{}", i));
    op.outputs = {like(step.input_value(i))};
    std::vector<Tensor> inputs{step.gradient()};
    for (std::size_t k = 1; k < step.num_inputs(); ++k) {
      if (k != i && !is_floating(step.input_value(k).type)) {
        inputs.push_back(step.input(k));
      }
    }
    step.give(i, step.emit(std::move(op), inputs));
  }
}

// Where rows are picked several times, their gradients are added up.
void gather(GradientStep& step) {
  if (step.wants(0)) {
    Op op = step.make_op(fmt::format("{}_backward", step.op().kind), "grad");
    op.flops = product(step.op().outputs[0].shape);
    op.outputs = {like(step.input_value(0))};
    std::vector<Tensor> inputs{step.gradient()};
    if (step.num_inputs() > 1) {
      inputs.push_back(step.input(1));
    }
    step.give(0, step.emit(std::move(op), inputs));
  }
}

// Each result's gradient is spread over the numbers that it was made of.
void resize(GradientStep& step) {
  const Op forward = step.op();
  give_unary(step, "resize_backward", sum({forward.flops, product(forward.outputs[0].shape)}),
             {step.gradient()});
}

// The blocks back.
void depth_to_space(GradientStep& step) {
  give_unary(step, "space_to_depth", 0, {step.gradient()});
}

void space_to_depth(GradientStep& step) {
  give_unary(step, "depth_to_space", 0, {step.gradient()});
}

void trilu(GradientStep& step) { give_unary(step, "trilu", 0, {step.gradient()}); }

// Each number of the result goes back to the four that it came from, and tells how it changes with
// its place: twice the work.
void grid_sample(GradientStep& step) {
  Op op = step.make_op("grid_sample_backward", "grad");
  op.flops = product({2, step.op().flops});
  std::vector<Tensor> inputs{step.gradient()};
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    inputs.push_back(step.input(i));
    if (step.wants(i)) {
      op.outputs.push_back(like(step.input_value(i)));
      wanted.push_back(i);
    }
  }
  Tensor gradient = step.emit(std::move(op), inputs);
  for (const std::size_t i : wanted) {
    step.give(i, gradient);
    ++gradient.output;
  }
}

constexpr std::array kReductionRules = {
    NamedRule{"cum_sum", cum_sum},
    NamedRule{"depth_to_space", depth_to_space},
    NamedRule{"expand", repeat},
    NamedRule{"gather", gather},
    NamedRule{"gather_elements", gather},
    NamedRule{"gather_nd", gather},
    NamedRule{"grid_sample", grid_sample},
    NamedRule{"log_softmax", log_softmax},
    NamedRule{"pad", pad},
    NamedRule{"reduce_l1", reduce_powers},
    NamedRule{"reduce_l2", reduce_powers},
    NamedRule{"reduce_log_sum", reduce_powers},
    NamedRule{"reduce_log_sum_exp", reduce_products},
    NamedRule{"reduce_max", reduce_extreme},
    NamedRule{"reduce_mean", reduce_mean},
    NamedRule{"reduce_min", reduce_extreme},
    NamedRule{"reduce_prod", reduce_products},
    NamedRule{"reduce_sum", reduce_sum},
    NamedRule{"reduce_sum_square", reduce_powers},
    NamedRule{"resize", resize},
    NamedRule{"scatter_elements", place_back},
    NamedRule{"scatter_nd", place_back},
    NamedRule{"space_to_depth", space_to_depth},
    NamedRule{"tile", repeat},
    NamedRule{"trilu", trilu},
};

}  // namespace

std::span<const NamedRule> reduction_rules() { return kReductionRules; }

}  // namespace emplace

// Reductions, softmax, and what chooses the largest.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace emplace::operators {
namespace {

using enum OpClass;
using enum From;

constexpr std::string_view kReduced = "[elements, elements of the result]";

// --- Results ---

Shape reduced(const Shape& x, const ReduceAttributes& attributes) {
  std::vector<bool> is_reduced(x.size(), attributes.axes.empty());
  for (const std::int64_t axis : attributes.axes) {
    is_reduced[axis_of(axis, x.size())] = true;
  }
  Shape result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!is_reduced[i]) {
      result.push_back(x[i]);
    } else if (attributes.keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

std::vector<Output> infer_reduce(const Call& call) {
  return {
      make_output(reduced(call.input(0).shape, call.as<ReduceAttributes>()), call.input(0).type)};
}

std::vector<Output> infer_place(const Call& call) {
  return {make_output(reduced(call.input(0).shape, call.as<ReduceAttributes>()), DataType::kInt64)};
}

std::vector<Output> infer_softmax(const Call& call) {
  if (call.input(0).shape.empty()) {
    fail_shapes("cannot take the softmax of a scalar");
  }
  return same(call);
}

// --- Costs ---

// FLOPs for each number of the input.
void count_reduce(Op& op, const Call& call) {
  op.shape = {call.input_elements(), call.elements()};
  op.flops = product({call.of.flops, call.input_elements()});
}

// A mean over the whole of each map is a pool.
void count_mean(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  Shape axes = call.as<ReduceAttributes>().axes;
  for (std::int64_t& axis : axes) {
    axis = static_cast<std::int64_t>(axis_of(axis, x.size()));
  }
  std::ranges::sort(axes);
  if (x.size() == 4 && axes == Shape{2, 3}) {
    count_global_mean(op, x, call.result().shape);
  } else {
    count_reduce(op, call);
  }
}

// Rows along the axis: maximum, difference, exp, sum, quotient.
void count_softmax(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  const std::int64_t columns = x.empty() ? 1 : x[axis_of(call.as<AxisAttributes>().axis, x.size())];
  op.shape = {columns == 0 ? 0 : product(x) / columns, columns};
  op.flops = product({call.of.flops, product(x)});
}

// --- Gradients ---

// Every term gets the sum's gradient.
void reduce_sum(GradientStep& step) {
  step.give_by_operator(0, "expand", "grad", {step.gradient()});
}

// The same, divided by the number of terms.
void reduce_mean(GradientStep& step) {
  step.give_by_operator(0, "reduce_mean_backward", "grad", {step.gradient()});
}

// The gradient goes where the largest number was, which is looked for again.
void reduce_extreme(GradientStep& step) {
  step.give_by_operator(0, "reduce_max_backward", "grad",
                        {step.gradient(), step.input(0), step.output(0)});
}

// Reads the gradient, the terms and the result.
void reduce_function(GradientStep& step) {
  step.give_by_operator(0, fmt::format("{}_backward", step.op().kind), "grad",
                        {step.gradient(), step.input(0), step.output(0)});
}

// dx = y (dy - sum of y dy over the row).
void softmax(GradientStep& step) {
  step.give_by_operator(0, "softmax_backward", "grad", {step.gradient(), step.output(0)});
}

// dx = dy - exp(y) sum of dy over the row.
void log_softmax(GradientStep& step) {
  step.give_by_operator(0, "log_softmax_backward", "grad", {step.gradient(), step.output(0)});
}

// The sums from the other end.
void cum_sum(GradientStep& step) { step.give_by_operator(0, "cum_sum", "grad", {step.gradient()}); }

// --- Rows ---

// `derivative` is for each number of the input.
constexpr Operator reduce(std::string_view name, std::string_view summary, std::int64_t flops,
                          Gradient gradient = nullptr, std::int64_t derivative = 0) {
  return {.kind = {name, kReduction, true, kReduced, summary},
          .infer = infer_reduce,
          .count = count_reduce,
          .gradient = gradient,
          .flops = flops,
          .derivative = {derivative, kInput},
          .from_key = by_default<ReduceAttributes>,
          .only_imported = true};
}

constexpr Operator per_number(std::string_view name, std::string_view summary, std::int64_t flops,
                              Gradient gradient = nullptr) {
  return {.kind = {name, kReduction, true, kElements, summary},
          .infer = same,
          .count = count_inputs,
          .gradient = gradient,
          .flops = flops,
          .from_key = by_default<AxisAttributes>,
          .only_imported = true};
}

constexpr Operator place_of(std::string_view name, std::string_view summary) {
  return {.kind = {name, kReduction, true, kElements, summary},
          .infer = infer_place,
          .count = count_inputs,
          .flops = 1,
          .from_key = by_default<ReduceAttributes>,
          .only_imported = true};
}

constexpr Operator rows_of_softmax(std::string_view name, std::string_view summary,
                                   std::int64_t flops, Gradient gradient, bool only_imported) {
  return {.kind = {name, kReduction, true, kRows, summary},
          .infer = infer_softmax,
          .count = count_softmax,
          .gradient = gradient,
          .flops = flops,
          .from_key = by_default<AxisAttributes>,
          .only_imported = only_imported};
}

constexpr auto kReductionRows = [] {
  Operator mean = reduce("reduce_mean", "mean along some dimensions", 1, reduce_mean, 1);
  mean.count = count_mean;
  return std::array{
      place_of("arg_max", "where the largest number is"),
      place_of("arg_min", "where the least number is"),
      per_number("cum_prod", "products up to each number", 1),
      per_number("cum_sum", "sums up to each number", 1, cum_sum),
      per_number("hardmax", "1 for the largest number of a row", 1),
      rows_of_softmax("log_softmax", "logarithm of the softmax of each row", 5, log_softmax, true),
      rows_of_softmax("log_softmax_backward", "gradient of log_softmax, from its result", 4,
                      nullptr, true),
      per_number("lp_normalization", "division of each row by its norm", 3),
      // For each number x of a row with result y: dy sign(x), dy x / y, dy / x, dy exp(x - y).
      reduce("reduce_l1", "sum of absolute values", 2, reduce_function, 2),
      reduce("reduce_l2", "root of the sum of squares", 2, reduce_function, 2),
      reduce("reduce_log_sum", "logarithm of the sum", 1, reduce_function, 2),
      reduce("reduce_log_sum_exp", "logarithm of the sum of powers", 2, reduce_function, 3),
      reduce("reduce_max", "largest number along some dimensions", 1, reduce_extreme, 1),
      mean,
      reduce("reduce_min", "least number along some dimensions", 1, reduce_extreme),
      reduce("reduce_prod", "product along some dimensions", 1, reduce_function, 3),  // dy y / x
      // dy (x - mean) / (n y)
      reduce("reduce_std", "standard deviation along some dimensions", 4, reduce_function, 4),
      reduce("reduce_sum", "sum along some dimensions", 1, reduce_sum),
      reduce("reduce_sum_square", "sum of squares", 2, reduce_function, 2),  // dy 2 x
      // dy 2 (x - mean) / n
      reduce("reduce_variance", "variance along some dimensions", 4, reduce_function, 3),
      rows_of_softmax("softmax", "softmax of each row", 5, softmax, false),
      rows_of_softmax("softmax_backward", "gradient of softmax, from its result", 4, nullptr,
                      false),
  };
}();

}  // namespace

std::span<const Operator> reductions() { return kReductionRows; }

}  // namespace emplace::operators

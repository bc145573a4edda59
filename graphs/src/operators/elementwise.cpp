// What treats each number by itself: functions of one, two or several numbers, which may be
// broadcast to the result. A multiply-add is 2 FLOPs, any other operation on a number 1.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace emplace::operators {
namespace {

using enum OpClass;
using enum ResultMemory;
using enum From;

constexpr std::string_view kBias =
    "[rows, columns], a number for each column; or [N, C, rest], one for each channel";

// --- Results ---

std::vector<Output> infer_broadcast(const Call& call) {
  return {make_output(broadcast(call.inputs), call.input(0).type)};
}

std::vector<Output> infer_truth(const Call& call) {
  return {make_output(broadcast(call.inputs), DataType::kBool)};
}

// Both sides are of one shape; the model builder has no other sums.
std::vector<Output> infer_where(const Call& call) {
  return {make_output(broadcast(call.inputs), call.inputs.back().type)};
}

// The bias is of a shape that the tensor's ends in, or lies along one of its axes.
std::vector<Output> infer_bias(const Call& call) {
  const Shape& x = call.input(0).shape;
  const Shape& bias = call.input(1).shape;
  const std::int64_t axis = call.as<AxisAttributes>().axis;
  const bool fits = axis >= 0 ? bias == Shape{x.at(axis_of(axis, x.size()))}
                              : !bias.empty() && bias.size() <= x.size() &&
                                    std::equal(bias.rbegin(), bias.rend(), x.rbegin());
  if (!fits) {
    fail_shapes(fmt::format("expected a bias of a shape that [{}] ends in, found [{}]",
                            fmt::join(x, ", "), fmt::join(bias, ", ")));
  }
  return same(call);
}

// The result, and which of its numbers are left.
std::vector<Output> infer_dropout(const Call& call) {
  return {call.input(0), make_output(call.input(0).shape, DataType::kBool)};
}

// --- Costs ---

// How `part` is added to a tensor of `shape`: a number to each column, or to each channel. Nothing
// if it is neither.
Shape bias_key(const Shape& part, const Shape& shape) {
  const auto begin = std::ranges::find_if(part, [](auto extent) { return extent != 1; });
  if (begin == part.end() || part.size() > shape.size() || product(shape) == 0) {
    return {};
  }
  const auto from = static_cast<std::size_t>(begin - part.begin()) + shape.size() - part.size();
  std::size_t to = shape.size();
  while (part[to - 1 - (shape.size() - part.size())] == 1) {
    --to;
  }
  if (!std::equal(begin, begin + static_cast<std::ptrdiff_t>(to - from),
                  shape.begin() + static_cast<std::ptrdiff_t>(from))) {
    return {};
  }
  const std::span all(shape);
  const std::int64_t before = product(all.first(from));
  const std::int64_t columns = product(all.subspan(from, to - from));
  const std::int64_t after = product(all.subspan(to));
  return after > 1 ? Shape{before, columns, after} : Shape{before, columns};
}

bool is_broadcast(const Call& call) {
  return std::ranges::any_of(
      call.inputs, [&](const Output& input) { return input.shape != call.result().shape; });
}

// Each input but the first takes an operation for each number of the result. Two numbers that are
// broadcast are another kind: kernels read them by index.
void count_pair(Op& op, const Call& call) {
  count_results(op, call);
  op.flops = product({op.flops, std::max<std::int64_t>(std::ssize(call.inputs) - 1, 1)});
  if (is_broadcast(call)) {
    op.kind = fmt::format("broadcast_{}", call.of.kind.name);
  }
}

// A bias of one dimension lies along the axis that the attributes name.
Shape bias_key(const Call& call, const Shape& bias, const Shape& shape) {
  const std::int64_t axis = call.as<AxisAttributes>().axis;
  if (bias.size() == 1 && axis >= 0 && std::cmp_less(axis, shape.size())) {
    const auto place = static_cast<std::size_t>(axis);
    const std::span all(shape);
    return {product(all.first(place)), shape[place], product(all.subspan(place + 1))};
  }
  Shape key = bias_key(bias, shape);
  if (key.empty()) {  // ones only, or nothing at all
    const std::int64_t columns = std::max<std::int64_t>(product(bias), 1);
    key = {product(shape) / columns, columns};
  }
  return key;
}

// The second input may be a vector, or a number for each channel.
void count_sum(Op& op, const Call& call) {
  count_pair(op, call);
  if (call.inputs.size() == 2 && call.input(0).shape == call.result().shape &&
      call.input(1).shape != call.result().shape) {
    if (Shape key = bias_key(call.input(1).shape, call.result().shape); !key.empty()) {
      op.kind = "bias_add";
      op.shape = std::move(key);
      op.attributes = AxisAttributes{};
    }
  }
}

void count_bias(Op& op, const Call& call) {
  count_results(op, call);
  op.shape = bias_key(call, call.input(1).shape, call.result().shape);
}

// The gradient is summed up over all that the bias was added to.
void count_bias_gradient(Op& op, const Call& call) {
  op.kind = "bias_add_backward";
  op.shape = bias_key(call, call.result().shape, call.input(0).shape);
  op.flops = std::max<std::int64_t>(call.input_elements() - call.elements(), 0);
}

Attributes bias_axis(const Op& op) { return AxisAttributes{.axis = op.shape.size() == 3 ? 1 : -1}; }

void count_several(Op& op, const Call& call) {
  count_results(op, call);
  op.flops = product({sum({std::ssize(call.inputs), -1, call.of.flops}), call.elements()});
}

// A sum of two for each term but the first.
std::int64_t kernels_of_sum(const Op& op) {
  return op.shape.size() == 2 ? std::max<std::int64_t>(op.shape[0] - 1, 1) : 1;
}

void count_add_n(Op& op, const Call& call) {
  op.kind = "add_n";
  op.shape = {std::ssize(call.inputs), call.elements()};
  op.flops = product({std::ssize(call.inputs) - 1, call.elements()});
}

// --- Gradients ---

// Adds an op on tensors of the result's shape, of which one may be broadcast.
Tensor emit_like_result(GradientStep& step, std::string_view name, std::string_view suffix,
                        std::initializer_list<Tensor> inputs) {
  return step.add(name, suffix, {}, inputs, {like(step.op().outputs[0])});
}

// A sum hands its gradient to each term.
void pass_on(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    give_reduced(step, i, step.gradient(),
                 i == 0   ? "grad_left"
                 : i == 1 ? "grad_right"
                          : fmt::format("grad_{}", i));
  }
}

void bias_add(GradientStep& step) {
  step.give(0, step.gradient());
  step.give_by_operator(1, "bias_add_backward", "grad_bias", {step.gradient()});
}

void negate(GradientStep& step) { step.give_by_operator(0, "neg", "grad", {step.gradient()}); }

void scale(GradientStep& step) { step.give_by_operator(0, "scale", "grad", {step.gradient()}); }

void cast(GradientStep& step) { step.give_by_operator(0, "cast", "grad", {step.gradient()}); }

// da = dy; db = -dy. Where the left side is a constant, there is a right side only.
void subtract(GradientStep& step) {
  const std::size_t right = step.num_inputs() - 1;
  if (right > 0) {
    give_reduced(step, 0, step.gradient(), "grad_left");
  }
  if (step.wants(right)) {
    give_reduced(step, right, emit_like_result(step, "scale", "grad_right", {step.gradient()}),
                 "grad_right");
  }
}

// da = dy b; db = dy a.
void multiply(GradientStep& step) {
  if (step.num_inputs() == 1) {  // the other side is a constant
    return give_reduced(step, 0, emit_like_result(step, "scale", "grad", {step.gradient()}),
                        "grad");
  }
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (step.wants(i)) {
      const std::string_view suffix = i == 0 ? "grad_left" : "grad_right";
      give_reduced(step, i,
                   emit_like_result(step, "multiply", suffix, {step.gradient(), step.input(1 - i)}),
                   suffix);
    }
  }
}

// With y = a / b: da = dy / b; db = -dy y / b. A constant left side is a reciprocal.
void divide(GradientStep& step) {
  if (step.num_inputs() == 1) {
    return give_reduced(step, 0, emit_like_result(step, "scale", "grad", {step.gradient()}),
                        "grad");
  }
  if (step.wants(0)) {
    give_reduced(step, 0,
                 emit_like_result(step, "div", "grad_left", {step.gradient(), step.input(1)}),
                 "grad_left");
  }
  if (step.wants(1)) {
    give_reduced(step, 1,
                 emit_like_result(step, "div_backward", "grad_right",
                                  {step.gradient(), step.output(0), step.input(1)}),
                 "grad_right");
  }
}

// With y = a^b: da = dy b y / a; db = dy y log(a). A constant exponent is a setting.
void power(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    if (step.wants(i)) {
      const std::string_view suffix = i == 0 ? "grad" : "grad_right";
      give_reduced(step, i,
                   emit_like_result(step, "pow_backward", suffix,
                                    {step.gradient(), step.input(0), step.output(0)}),
                   suffix);
    }
  }
}

// The gradient goes to the inputs whose number was taken, zero to the others.
void extreme(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    if (step.wants(i)) {
      const std::string suffix = fmt::format("grad_{}", i);
      give_reduced(step, i,
                   emit_like_result(step, "max_backward", suffix,
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
                     ? emit_like_result(step, "where", suffix, {step.gradient(), step.input(0)})
                     : emit_like_result(step, "where", suffix, {step.gradient()}),
                 suffix);
  }
}

// With the slope a where x is negative: dx = dy or a dy; da = the sum of dy x there.
void prelu(GradientStep& step) {
  if (step.num_inputs() == 1) {  // the slopes are constants
    return step.give_by_operator(0, "prelu_backward", "grad", {step.gradient(), step.input(0)});
  }
  step.give_by_operator(0, "prelu_backward", "grad",
                        {step.gradient(), step.input(0), step.input(1)});
  if (step.wants(1)) {
    give_reduced(step, 1,
                 emit_like_result(step, "prelu_backward_slope", "grad_slope",
                                  {step.gradient(), step.input(0)}),
                 "grad_slope");
  }
}

void dropout(GradientStep& step) {
  step.give_by_operator(0, "dropout_backward", "grad", {step.gradient(), step.output(1)});
}

// Softmax made zeros where the mask is, so their gradient is zero as it comes.
void causal_mask(GradientStep& step) { step.give(0, step.gradient()); }

// Steps are flat, so no gradient comes through.
void flat(GradientStep& step) { static_cast<void>(step.gradient()); }

// One op, which reads the gradient and the function's input or its result, whichever tells the
// derivative at less cost.
void function_gradient(GradientStep& step) {
  const std::string kind = step.op().kind;
  const Operator* row = find(kind);
  step.give_by_operator(
      0, fmt::format("{}_backward", kind), "grad",
      {step.gradient(), row->derivative.from == kInput ? step.input(0) : step.output(0)});
}

// --- Rows ---

constexpr Operator imported(Operator row) {
  row.only_imported = true;
  return row;
}

// A function of one number.
constexpr Operator function(std::string_view name, std::string_view summary, std::int64_t flops,
                            Derivative derivative = {}) {
  return {.kind = {name, kElementwise, true, kElements, summary, kInPlace},
          .infer = same,
          .count = count_results,
          .gradient = derivative.flops > 0 ? function_gradient : nullptr,
          .flops = flops,
          .derivative = derivative};
}

constexpr Operator flat_function(std::string_view name, std::string_view summary) {
  Operator row = function(name, summary, 1);
  row.gradient = flat;
  row.only_imported = true;
  return row;
}

// A truth value for each number, or for two of them.
constexpr Operator truth(std::string_view name, std::string_view summary) {
  return {.kind = {name, kElementwise, true, kElements, summary},
          .infer = infer_truth,
          .count = count_results,
          .flops = 1,
          .only_imported = true};
}

// A function of two numbers, of 1 FLOP.
constexpr Operator pair(std::string_view name, std::string_view summary,
                        Gradient gradient = nullptr) {
  return {.kind = {name, kElementwise, true, kElements, summary, kInPlace},
          .infer = infer_broadcast,
          .count = count_pair,
          .gradient = gradient,
          .flops = 1};
}

// The same of tensors of other shapes.
constexpr Operator broadcast_pair(std::string_view name, std::string_view summary,
                                  Gradient gradient = nullptr) {
  return {.kind = {name, kElementwise, true, kElements, summary},
          .infer = infer_broadcast,
          .count = count_results,
          .gradient = gradient,
          .flops = 1,
          .only_imported = true};
}

// A function of so many FLOPs that has kernels of its own, for results like the first input or of
// another type.
constexpr Operator plain(std::string_view name, std::string_view summary, std::int64_t flops,
                         Gradient gradient = nullptr, ResultMemory memory = kOwn) {
  return {.kind = {name, kElementwise, true, kElements, summary, memory},
          .count = count_results,
          .gradient = gradient,
          .flops = flops,
          .only_imported = true};
}

// Bits of two integers.
constexpr Operator bits(std::string_view name, std::string_view summary) {
  Operator row = plain(name, summary, 1, nullptr, kInPlace);
  row.infer = infer_broadcast;
  return row;
}

// The gradient of a kind that `emplace calibrate` runs.
constexpr Operator gradient_of(std::string_view name, std::string_view summary,
                               std::int64_t flops) {
  return {.kind = {name, kElementwise, true, kElements, summary, kInPlace},
          .count = count_results,
          .flops = flops};
}

constexpr std::array kElementwiseRows = {
    // --- One number; behind each, its derivative ---
    imported(function("abs", "absolute value", 1, {2, kInput})),  // sign(x)
    imported(function("acos", "arc cosine", 1, {5, kInput})),     // -1 / sqrt(1 - x x)
    imported(function("acosh", "inverse hyperbolic cosine", 1)),
    imported(function("asin", "arc sine", 1, {4, kInput})),  // 1 / sqrt(1 - x x)
    imported(function("asinh", "inverse hyperbolic sine", 1)),
    imported(function("atan", "arc tangent", 1, {3, kInput})),  // 1 / (1 + x x)
    imported(function("atanh", "inverse hyperbolic tangent", 1)),
    imported(function("bitwise_not", "the other bits", 1)),
    flat_function("ceil", "next integer above"),
    imported(
        function("celu", "exponential linear unit, smooth", 1, {3, kResult})),  // 1, or 1 + y / a
    imported(function("clip", "number between limits", 2, {3, kInput})),  // 1 between the limits
    imported(function("cos", "cosine", 1, {3, kInput})),                  // -sin(x)
    imported(function("cosh", "hyperbolic cosine", 1)),
    imported(function("elu", "exponential linear unit", 1, {2, kResult})),  // 1, or y + a
    imported(function("erf", "error function", 1, {5, kInput})),         // exp(-x x) 2 / sqrt(pi)
    imported(function("exp", "exponential function", 1, {1, kResult})),  // y
    flat_function("floor", "next integer below"),
    // P(x) + x p(x) with P = (1 + erf(x / sqrt 2)) / 2 (4), p = exp(-x x / 2) / sqrt(2 pi) (4). The
    // function itself: x / sqrt(2), erf, plus 1, times x, times 1/2.
    function("gelu", "x times the normal distribution of x", 5, {11, kInput}),
    imported(function("hard_sigmoid", "sigmoid of straight lines", 1, {2, kResult})),  // a, or 0
    imported(function("hard_swish", "x times hard_sigmoid of x", 2, {4, kInput})),  // (2 x + 3) / 6
    imported(function("leaky_relu", "relu with a slope below 0", 1, {1, kResult})),  // 1, or a
    imported(function("log", "natural logarithm", 1, {1, kInput})),                  // 1 / x
    // t + x s (1 - t t), t = tanh(softplus(x)), s = sigmoid(x)
    imported(function("mish", "x times tanh of softplus of x", 3, {8, kInput})),
    imported(function("reciprocal", "quotient with a constant", 1, {3, kResult})),  // -y y
    function("relu", "max(x, 0)", 1, {1, kResult}),  // 1 where y is not 0
    flat_function("round", "nearest integer"),
    imported(
        function("selu", "exponential linear unit, scaled", 1, {3, kResult})),  // b, or y + a b
    imported(function("shrink", "0 around 0", 2)),
    function("sigmoid", "1 / (1 + exp(-x))", 1, {3, kResult}),  // y (1 - y)
    flat_function("sign", "-1, 0 or 1"),
    // s (1 + x (1 - s)) with s = sigmoid(x). The function is the sigmoid, times x.
    function("silu", "x times sigmoid of x", 2, {6, kInput}),
    imported(function("sin", "sine", 1, {2, kInput})),  // cos(x)
    imported(function("sinh", "hyperbolic sine", 1)),
    imported(function("softplus", "log(1 + exp(x))", 1, {2, kInput})),  // sigmoid(x)
    imported(function("softsign", "x / (1 + |x|)", 1, {4, kInput})),    // 1 / (1 + |x|)^2
    imported(function("sqrt", "square root", 1, {2, kResult})),         // 1 / (2 y)
    imported(function("tan", "tangent", 1, {3, kResult})),              // 1 + y y
    function("tanh", "hyperbolic tangent", 1, {3, kResult}),            // 1 - y y
    imported(
        function("thresholded_relu", "0 up to a limit", 1, {1, kResult})),  // 1 where y is not 0
    gradient_of("gelu_backward", "gradient of gelu, from its input", 11),
    gradient_of("relu_backward", "gradient of relu, from its result", 1),
    gradient_of("sigmoid_backward", "gradient of sigmoid, from its result", 3),
    gradient_of("silu_backward", "gradient of silu, from its input", 6),
    gradient_of("tanh_backward", "gradient of tanh, from its result", 3),

    // --- Two numbers, or one and a constant ---
    Operator{
        .kind = {"add", kElementwise, true, kElements, "sum of two tensors of one shape", kInPlace},
        .infer = infer_broadcast,
        .count = count_sum,
        .gradient = pass_on,
        .flops = 1},
    Operator{.kind = {"bias_add", kElementwise, true, kBias,
                      "adds the same tensor to each row, or a number to each channel", kInPlace},
             .infer = infer_bias,
             .count = count_bias,
             .gradient = bias_add,
             .flops = 1,
             .from_key = bias_axis},
    Operator{.kind = {"bias_add_backward", kReduction, true, kBias,
                      "gradient of what bias_add adds: sum over all that it is added to"},
             .count = count_bias_gradient,
             .from_key = bias_axis},
    imported(pair("div", "quotient of two tensors of one shape", divide)),
    imported(pair("max", "largest of several tensors", extreme)),
    imported(pair("min", "least of several tensors", extreme)),
    imported(pair("mod", "remainder")),
    pair("multiply", "product of two tensors of one shape", multiply),
    imported(pair("pow", "power", power)),
    pair("subtract", "difference of two tensors of one shape", subtract),
    broadcast_pair("broadcast_add", "sum of tensors of other shapes", pass_on),
    broadcast_pair("broadcast_div", "quotient of tensors of other shapes", divide),
    broadcast_pair("broadcast_max", "maximum of tensors of other shapes", extreme),
    broadcast_pair("broadcast_min", "minimum of tensors of other shapes", extreme),
    broadcast_pair("broadcast_mod", "remainder of tensors of other shapes"),
    broadcast_pair("broadcast_multiply", "product of tensors of other shapes", multiply),
    broadcast_pair("broadcast_pow", "power of tensors of other shapes", power),
    broadcast_pair("broadcast_subtract", "difference of tensors of other shapes", subtract),
    plain("div_backward", "gradient of a quotient by what it is divided by", 3),
    plain("max_backward", "gradient of max and min", 1),
    plain("pow_backward", "gradient of a power", 3),
    bits("bit_shift", "bits moved by some places"),
    bits("bitwise_and", "bits of both of two integers"),
    bits("bitwise_or", "bits of one of two integers"),
    bits("bitwise_xor", "bits of one of two integers, not both"),
    truth("and", "both of two truth values"),
    truth("equal", "comparison"),
    truth("greater", "comparison"),
    truth("greater_or_equal", "comparison"),
    truth("is_finite", "whether a number is finite"),
    truth("is_inf", "whether a number is infinite"),
    truth("is_nan", "whether a number is NaN"),
    truth("less", "comparison"),
    truth("less_or_equal", "comparison"),
    truth("not", "the other truth value"),
    truth("not_equal", "comparison"),
    truth("or", "one of two truth values"),
    truth("xor", "one of two truth values, not both"),
    plain("prelu", "relu with a learned slope below 0", 1, prelu, kInPlace),
    plain("prelu_backward", "gradient of prelu", 1),
    plain("prelu_backward_slope", "gradient of the slopes of prelu", 2),
    Operator{
        .kind = {"squared_difference", kElementwise, true, kElements, "square of a difference"},
        .infer = infer_broadcast,
        .count = count_results,
        .flops = 2,
        .only_imported = true},

    // --- Several numbers ---
    Operator{.kind = {"add_n", kElementwise, true, kTerms,
                      "sum of tensors of one shape, for example gradients", kInPlace},
             .infer = same,
             .count = count_add_n,
             .gradient = pass_on,
             .kernels_of = kernels_of_sum},
    Operator{.kind = {"mean", kElementwise, true, kElements, "mean of several tensors", kInPlace},
             .infer = infer_broadcast,
             .count = count_several,
             .flops = 1,
             .only_imported = true},
    Operator{.kind = {"sum", kElementwise, true, kElements, "sum of several tensors", kInPlace},
             .infer = infer_broadcast,
             .count = count_several,
             .gradient = pass_on,
             .only_imported = true},
    Operator{.kind = {"where", kElementwise, true, kElements, "numbers of one tensor or another"},
             .infer = infer_where,
             .count = count_results,
             .gradient = where,
             .only_imported = true},

    // --- Constants, types, masks ---
    plain("cast", "the same numbers in another type", 1, cast),
    plain("dequantize_linear", "integers become real numbers", 2),
    plain("dynamic_quantize_linear", "real numbers become integers, by their range", 4),
    plain("fake_quantize", "real numbers as they would be after quantization", 4),
    imported(Operator{.kind = {"neg", kElementwise, true, kElements, "-x", kInPlace},
                      .infer = same,
                      .count = count_results,
                      .gradient = negate,
                      .flops = 1}),
    plain("quantize_linear", "real numbers become integers", 3),
    Operator{.kind = {"causal_mask", kElementwise, true, kElements, "hides later keys from queries",
                      kInPlace},
             .infer = same,
             .count = count_results,
             .gradient = causal_mask,
             .flops = 1},
    // Compares a random number, and scales what is left.
    Operator{.kind = {"dropout", kElementwise, true, kElements,
                      "drops elements at random and scales the rest", kInPlace},
             .infer = infer_dropout,
             .count = count_results,
             .gradient = dropout,
             .flops = 2},
    gradient_of("dropout_backward", "gradient of dropout", 1),
    Operator{.kind = {"scale", kElementwise, true, kElements,
                      "product with a constant, or the same numbers in another type", kInPlace},
             .infer = same,
             .count = count_results,
             .gradient = scale,
             .flops = 1},
};

}  // namespace

std::span<const Operator> elementwise() { return kElementwiseRows; }

std::string_view with_constant(std::string_view name, bool constant_is_left) {
  if (name == "multiply" || (name == "div" && !constant_is_left)) {
    return "scale";
  }
  if (name == "subtract" && !constant_is_left) {
    return "add";
  }
  if (name == "max" || name == "min") {
    return "clip";
  }
  if (name == "div") {
    return "reciprocal";
  }
  return name == "pow" && constant_is_left ? "exp" : name;
}

bool swaps(std::string_view name, const Shape& left, const Shape& right, const Shape& result) {
  return (name == "add" || name == "multiply" || name == "max" || name == "min") &&
         left != result && right == result;
}

}  // namespace emplace::operators

// Losses: scalars, and what their gradients read.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace emplace::operators {
namespace {

using enum OpClass;

Output scalar() { return make_output({}, DataType::kFloat32); }

// --- Results ---

// The loss and the probabilities.
std::vector<Output> infer_cross_entropy(const Call& call) {
  const Output& logits = call.input(0);
  const Shape& labels = call.input(1).shape;
  if (logits.shape.size() != 2 || labels != Shape{logits.shape[0]}) {
    fail_shapes(fmt::format("expected logits [N, classes] and labels [N], found [{}] and [{}]",
                            fmt::join(logits.shape, ", "), fmt::join(labels, ", ")));
  }
  return {scalar(), make_output(logits.shape, logits.type)};
}

std::vector<Output> infer_difference(const Call& call) {
  const Shape& x = call.input(0).shape;
  const Shape& target = call.input(1).shape;
  if (target != x) {
    fail_shapes(fmt::format("expected a target of the shape [{}], found [{}]", fmt::join(x, ", "),
                            fmt::join(target, ", ")));
  }
  return {scalar()};
}

std::vector<Output> infer_sum_of_losses(const Call& call) {
  if (call.inputs.empty() ||
      std::ranges::any_of(call.inputs, [](const Output& loss) { return !loss.shape.empty(); })) {
    fail_shapes("expected at least one loss, all of them scalars");
  }
  return {scalar()};
}

// --- Costs ---

// Softmax, and a logarithm and an addition for each row.
void count_cross_entropy(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  if (x.size() != 2) {
    fail_shapes(fmt::format("expected logits [N, classes], found [{}]", fmt::join(x, ", ")));
  }
  op.shape = x;
  op.flops = sum({product({5, product(x)}), product({2, x[0]})});
}

// dx = (probabilities - one at the label) times the loss's constant gradient over N.
void count_cross_entropy_gradient(Op& op, const Call& call) {
  const Shape& x = call.result().shape;
  op.shape = x;
  op.flops = sum({product(x), x.empty() ? 0 : x[0]});
}

void count_sum_of_losses(Op& op, const Call& call) {
  op.shape = {std::ssize(call.inputs), 1};
  op.flops = 2 * std::ssize(call.inputs) - 1;
}

// --- Gradients ---

void softmax_cross_entropy(GradientStep& step) {
  step.expect_constant_gradient();
  step.give_by_operator(0, "softmax_cross_entropy_backward", "grad",
                        {step.output(1), step.input(1)});
}

void sigmoid_cross_entropy(GradientStep& step) {
  step.expect_constant_gradient();
  step.give_by_operator(0, "sigmoid_cross_entropy_backward", "grad",
                        {step.input(0), step.input(1)});
}

void mean_squared_error(GradientStep& step) {
  step.expect_constant_gradient();
  step.give_by_operator(0, "mean_squared_error_backward", "grad", {step.input(0), step.input(1)});
}

void add_losses(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    step.give(i, step.gradient());
  }
}

constexpr Operator difference(std::string_view name, std::string_view summary, std::int64_t flops,
                              Gradient gradient) {
  return {.kind = {name, kReduction, true, kElements, summary},
          .infer = gradient == nullptr ? nullptr : infer_difference,
          .count = count_inputs,
          .gradient = gradient,
          .flops = flops};
}

// Losses of imported models that the zoo does not have; nothing is trained on them.
constexpr Operator imported_loss(std::string_view name, std::string_view summary,
                                 std::int64_t flops) {
  return {.kind = {name, kReduction, true, kElements, summary},
          .count = count_inputs,
          .flops = flops,
          .only_imported = true};
}

constexpr std::array kLossRows = {
    Operator{.kind = {"add_losses", kReduction, true, kTerms, "weighted sum of scalar losses"},
             .infer = infer_sum_of_losses,
             .count = count_sum_of_losses,
             .gradient = add_losses},
    // Difference, square and sum; dx = (x - y) 2 / N.
    in_kernels(2,
               difference("mean_squared_error", "mean squared difference", 3, mean_squared_error)),
    difference("mean_squared_error_backward", "gradient of mean_squared_error", 2, nullptr),
    imported_loss("negative_log_likelihood_loss", "mean of the probabilities' logarithms", 1),
    // max(x, 0) - x y + log(1 + exp(-|x|)), and the sum; dx = (sigmoid(x) - y) / N.
    in_kernels(
        5, difference("sigmoid_cross_entropy", "mean cross entropy of sigmoid against labels", 10,
                      sigmoid_cross_entropy)),
    in_kernels(4, difference("sigmoid_cross_entropy_backward",
                             "gradient of sigmoid_cross_entropy, from the logits", 3, nullptr)),
    imported_loss("softmax_cross_entropy_loss", "cross entropy of maps, or of weighted classes", 5),
    in_kernels(2, Operator{.kind = {"softmax_cross_entropy", kReduction, true, kRows,
                                    "mean cross entropy of softmax against class labels"},
                           .infer = infer_cross_entropy,
                           .count = count_cross_entropy,
                           .gradient = softmax_cross_entropy}),
    in_kernels(3, Operator{.kind = {"softmax_cross_entropy_backward", kReduction, true, kRows,
                                    "gradient of the mean cross entropy, from the probabilities"},
                           .count = count_cross_entropy_gradient}),
};

}  // namespace

std::span<const Operator> losses() { return kLossRows; }

}  // namespace emplace::operators

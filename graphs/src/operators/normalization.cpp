// Normalizations: of channels over a batch, of rows, of groups of channels. The second result is
// the statistics, for the gradient.

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

constexpr std::string_view kMap = "[N, C, rest]: batch, channels, elements of one channel";

// A vector has one channel.
Shape map_key(const Shape& x) {
  if (x.empty()) {
    fail_shapes("expected a tensor [N, C, ...], found a scalar");
  }
  const bool has_channels = x.size() > 1;
  return {x[0], has_channels ? x[1] : 1, product(std::span(x).subspan(has_channels ? 2 : 1))};
}

// The rows of a normalization are all dimensions from the axis on.
Shape row_key(const Shape& x, std::int64_t axis) {
  if (x.empty()) {
    fail_shapes("cannot normalize a scalar");
  }
  const std::int64_t columns = product(std::span(x).subspan(axis_of(axis, x.size())));
  return {columns == 0 ? 0 : product(x) / columns, columns};
}

Shape group_key(const Shape& x, std::int64_t groups) {
  if (x.size() < 2 || groups < 1) {
    fail_shapes(fmt::format("expected a tensor [N, C, ...] of at least 1 group, found [{}] and {}",
                            fmt::join(x, ", "), groups));
  }
  const std::int64_t rows = product({x[0], groups});
  return {rows, rows == 0 ? 0 : product(x) / rows};
}

// --- Results ---

std::vector<Output> infer_batch_norm(const Call& call) {
  const Output& x = call.input(0);
  return {make_output(x.shape, x.type), make_output({2, map_key(x.shape)[1]}, DataType::kFloat32)};
}

std::vector<Output> infer_layer_norm(const Call& call) {
  const Output& x = call.input(0);
  const std::int64_t rows = row_key(x.shape, call.as<AxisAttributes>().axis)[0];
  return {make_output(x.shape, x.type), make_output({rows, 2}, DataType::kFloat32)};
}

std::vector<Output> infer_rms_norm(const Call& call) {
  const Output& x = call.input(0);
  const std::int64_t rows = row_key(x.shape, call.as<AxisAttributes>().axis)[0];
  return {make_output(x.shape, x.type), make_output({rows}, DataType::kFloat32)};
}

std::vector<Output> infer_group_norm(const Call& call) {
  const Output& x = call.input(0);
  const std::int64_t rows = group_key(x.shape, call.as<GroupNormAttributes>().num_groups)[0];
  return {make_output(x.shape, x.type), make_output({rows, 2}, DataType::kFloat32)};
}

// --- Costs ---

// For each element: sum and sum of squares (3), then one multiply-add with the channel's constants.
// The input is read twice, because the mean must be known before it can be applied. The op keeps
// moving statistics (persistent_bytes), which it reads and writes.
void count_batch_norm(Op& op, const Call& call) {
  op.shape = map_key(call.input(0).shape);
  op.flops = product({5, call.input_elements()});
  op.bytes_read = sum({call.input(0).bytes, op.persistent_bytes});
  op.bytes_written = op.persistent_bytes;
}

// The multiply-add alone: mean and deviation are the moving ones.
void count_batch_norm_inference(Op& op, const Call& call) {
  op.shape = map_key(call.input(0).shape);
  op.flops = product({2, call.input_elements()});
  op.bytes_read = op.persistent_bytes;
}

// Inputs are the gradient, x, and what else its gradient needs. dscale = sum dy xhat, doffset = sum
// dy; dx = a dy + b x + c with constants of the channel. Both passes read x and dy.
void count_batch_norm_gradient(Op& op, const Call& call) {
  op.shape = map_key(call.input(1).shape);
  op.flops = product({9, call.input_elements()});
  op.bytes_read = sum({call.input(0).bytes, call.input(1).bytes});
}

void count_rows(Op& op, const Call& call) {
  op.shape = row_key(call.input(0).shape, call.as<AxisAttributes>().axis);
  op.flops = product({call.of.flops, call.input_elements()});
}

void count_groups(Op& op, const Call& call) {
  op.shape = group_key(call.input(0).shape, call.as<GroupNormAttributes>().num_groups);
  op.flops = product({call.of.flops, call.input_elements()});
}

// A number is divided by a power of the sum of its neighbours' squares in other channels, scaled
// and with an offset: one for each neighbour, and four.
void count_lrn(Op& op, const Call& call) {
  count_results(op, call);
  const std::int64_t size = call.as<LrnAttributes>().size;
  op.flops = product({sum({size, 4}), call.elements()});
}

// The sums of squares, and those of the gradients' products with the results.
void count_lrn_gradient(Op& op, const Call& call) {
  count_lrn(op, call);
  op.flops = product({2, op.flops});
}

// --- Gradients ---

// Adds one op for the gradients of what is normalized, the first input, and of what is learned, the
// others; it reads the inputs and the statistics.
void norm_gradient(GradientStep& step) {
  std::vector<Tensor> inputs{step.gradient()};
  std::vector<Output> gradients;
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    inputs.push_back(step.input(i));
    gradients.push_back(like(step.input_value(i)));
  }
  inputs.push_back(step.output(1));
  Tensor gradient = step.add(fmt::format("{}_backward", step.op().kind), "grad", step.attributes(),
                             inputs, std::move(gradients));
  for (std::size_t i = 0; i < step.num_inputs(); ++i, ++gradient.output) {
    step.give(i, gradient);
  }
}

// The constants of the channels do not depend on the batch.
void batch_norm_inference(GradientStep& step) {
  step.give_by_operator(0, "scale", "grad", {step.gradient()});
}

void lrn(GradientStep& step) {
  step.give_by_operator(0, "lrn_backward", "grad",
                        {step.gradient(), step.input(0), step.output(0)});
}

// --- Rows ---

constexpr Operator rows(std::string_view name, std::string_view summary, std::int64_t flops,
                        Infer infer, Gradient gradient) {
  return {.kind = {name, kNormalization, true, kRows, summary},
          .infer = infer,
          .count = count_rows,
          .gradient = gradient,
          .flops = flops,
          .from_key = by_default<AxisAttributes>};
}

constexpr Operator groups(std::string_view name, std::string_view summary, std::int64_t flops,
                          Gradient gradient = nullptr) {
  return {.kind = {name, kNormalization, true, kRows, summary},
          .infer = infer_group_norm,
          .count = count_groups,
          .gradient = gradient,
          .flops = flops,
          .from_key = by_default<GroupNormAttributes>,
          .only_imported = true};
}

constexpr std::array kNormalizations = {
    // In training PyTorch also counts the batches.
    in_kernels(2, Operator{.kind = {"batch_norm", kNormalization, true, kMap,
                                    "normalization of each channel, for training"},
                           .infer = infer_batch_norm,
                           .count = count_batch_norm,
                           .gradient = norm_gradient}),
    Operator{.kind = {"batch_norm_backward", kNormalization, true, kMap,
                      "gradients of batch_norm: of its input, and of scale and offset"},
             .count = count_batch_norm_gradient},
    Operator{.kind = {"batch_norm_inference", kNormalization, true, kMap,
                      "normalization of each channel by moving statistics"},
             .infer = same,
             .count = count_batch_norm_inference,
             .gradient = batch_norm_inference,
             .only_imported = true},
    // Sums and sums of squares (3), one multiply-add with the row's statistics and one with scale
    // and offset.
    rows("layer_norm", "normalization of each row", 7, infer_layer_norm, norm_gradient),
    // With xhat = (x - mean) / deviation (2): doffset = sum dy (1), dscale = sum dy xhat (2), g =
    // dy scale (1), sums of g and of g xhat over the row (3), and dx = (g - mean g - xhat mean(g
    // xhat)) / deviation (4).
    in_kernels(2, rows("layer_norm_backward",
                       "gradients of layer_norm: of its input, and of scale and offset", 13,
                       nullptr, nullptr)),
    // The sum of squares (2), and two products.
    rows("rms_norm", "division of each row by its mean square's root", 4, infer_rms_norm,
         norm_gradient),
    // xhat (1), dscale (2), g (1), sum of g xhat (2), dx (3).
    in_kernels(2, rows("rms_norm_backward", "gradients of rms_norm: of its input, and of its scale",
                       9, nullptr, nullptr)),
    in_kernels(3, groups("group_norm", "normalization of groups of channels", 7, norm_gradient)),
    in_kernels(5, groups("group_norm_backward", "gradients of group_norm", 13)),
    in_kernels(3, groups("instance_norm", "normalization of each map", 7, norm_gradient)),
    in_kernels(3, groups("instance_norm_backward", "gradients of instance_norm", 13)),
    Operator{.kind = {"lrn", kNormalization, true, kElements,
                      "local response normalization over channels"},
             .infer = same,
             .count = count_lrn,
             .gradient = lrn,
             .from_key = by_default<LrnAttributes>,
             .only_imported = true},
    Operator{.kind = {"lrn_backward", kNormalization, true, kElements, "gradient of lrn"},
             .count = count_lrn_gradient,
             .from_key = by_default<LrnAttributes>,
             .only_imported = true},
};

}  // namespace

std::span<const Operator> normalizations() { return kNormalizations; }

}  // namespace emplace::operators

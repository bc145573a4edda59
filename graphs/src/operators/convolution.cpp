// Convolutions of maps with filters, their transposes, and the gradients of both. A convolution
// relates three tensors, maps x [N, C, ...], filters w [K, C / groups, ...] and results y [N, K,
// ...]: forward it makes y of x and w, its data gradient makes x of y and w, its filter gradient w
// of y and x. A transposed convolution is the data gradient of the convolution whose results are
// its input. All take a multiply-add for each number of y and of one filter.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace emplace::operators {
namespace {

using enum OpClass;

constexpr std::string_view kConv =
    "[N, C, H, W, K, R, S, U, V, dilation, P, Q]: N maps of C x H x W, K filters of R x S moved by "
    "U down and V across, results P x Q";
constexpr std::string_view kDepthwise =
    "[N, C, H, W, R, S, U, V, P, Q]: N maps of C x H x W, a filter of R x S for each channel moved "
    "by U down and V across, results P x Q";
constexpr std::string_view kTransposed =
    "that of the convolution that it transposes, from its results to its maps";
constexpr std::string_view kResultShape = "the result's shape";

// The first of a list whose entries are all alike; 0 if they differ or there are none.
std::int64_t alike(const Shape& list) {
  return !list.empty() && std::ranges::count(list, list[0]) == std::ssize(list) ? list[0] : 0;
}

struct Convolution {
  Shape x;
  Shape w;
  Shape y;
};

// The number of groups of channels, x [N, C, ...] and w [K, C / groups, ...].
std::int64_t groups_of(const Shape& x, const Shape& w) { return w[1] > 0 ? x[1] / w[1] : 1; }

// Sets what `op` is; `pass` is "", "_transpose", "_backward_data" or "_backward_filter". The key of
// two dimensions, for which libraries have kernels, is [N, C, H, W, K, R, S, U, V, dilation, P, Q];
// one dimension is a map of height 1.
void count_convolution(Op& op, const Call& call, Convolution of, std::string_view pass) {
  if (of.x.size() < 3 || of.w.size() != of.x.size() || of.y.size() != of.x.size()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("expected maps [N, C, ...] and filters of as many dimensions, found "
                            "[{}], [{}] and [{}]",
                            fmt::join(of.x, ", "), fmt::join(of.w, ", "), fmt::join(of.y, ", ")));
  }
  const Window& window = call.as<ConvAttributes>().window;
  const std::int64_t filters = std::max<std::int64_t>(of.w[0], 1);
  op.flops = product({2, product(of.y), product(of.w) / filters});
  op.shape = pass == "_transpose" ? of.x : of.y;
  const bool is_line = of.x.size() == 3;
  const auto [x, w, y] = Convolution{as_maps(of.x), as_maps(of.w), as_maps(of.y)};
  const auto& [strides, dilations, pads] = window;
  const std::int64_t dilation = dilations.empty() ? 1 : alike(dilations);
  const std::int64_t groups = groups_of(x, w);
  const bool is_depthwise = groups == x[1] && w[0] == x[1] && dilation == 1 && pass != "_transpose";
  if (x.size() != 4 || dilation == 0 || (groups != 1 && !is_depthwise)) {
    op.kind = fmt::format("{}conv{}", groups == 1 || pass == "_transpose" ? "" : "grouped_", pass);
    return;
  }
  op.kind = fmt::format("{}conv2d{}", groups == 1 ? "" : "depthwise_", pass);
  if (strides.empty()) {  // the key is not known
    op.shape.clear();
    return;
  }
  const std::int64_t down = is_line ? 1 : strides.front();
  const std::int64_t across = strides.back();
  op.shape = groups == 1 ? Shape{x[0], x[1], x[2],   x[3],     w[0], w[2],
                                 w[3], down, across, dilation, y[2], y[3]}
                         : Shape{x[0], x[1], x[2], x[3], w[2], w[3], down, across, y[2], y[3]};
}

void expect_fit(const Shape& x, const Shape& w, bool fits, std::int64_t groups) {
  if (x.size() < 3 || w.size() != x.size() || groups < 1 || !fits) {
    throw Error(ErrorCode::kFormat,
                fmt::format("maps [{}] and filters [{}] of {} groups do not fit each other",
                            fmt::join(x, ", "), fmt::join(w, ", "), groups));
  }
}

std::vector<Output> infer_conv(const Call& call) {
  const auto& attributes = call.as<ConvAttributes>();
  const Shape& x = call.input(0).shape;
  const Shape& w = call.input(1).shape;
  const std::int64_t groups = attributes.group;
  expect_fit(x, w,
             w.size() > 1 && x.size() > 1 && groups > 0 && product({w[1], groups}) == x[1] &&
                 w[0] % groups == 0,
             groups);
  Shape y{x[0], w[0]};
  const Shape behind = places(std::span(x).subspan(2), std::span(w).subspan(2), attributes.window);
  y.insert(y.end(), behind.begin(), behind.end());
  return {make_output(std::move(y), call.input(0).type)};
}

// The maps of which a convolution makes the input. Pads below 0 take more than the windows reach.
std::vector<Output> infer_transpose(const Call& call) {
  const auto& [window, groups, layout] = call.as<ConvAttributes>();
  const Shape& y = call.input(0).shape;
  const Shape& w = call.input(1).shape;
  expect_fit(y, w, y.size() > 1 && !w.empty() && w[0] == y[1], groups);
  Shape x{y[0], product({w[1], groups})};
  for (std::size_t i = 2; i < y.size(); ++i) {
    const auto entry = [&](const Shape& list, std::size_t at, std::int64_t fallback) {
      return at < list.size() ? list[at] : fallback;
    };
    const std::size_t d = i - 2;
    const std::int64_t pads =
        sum({entry(window.pads, d, 0), entry(window.pads, d + y.size() - 2, 0)});
    x.push_back(sum({product({y[i] - 1, entry(window.strides, d, 1)}),
                     product({w[i] - 1, entry(window.dilations, d, 1)}), 1, -pads}));
  }
  return {make_output(std::move(x), call.input(0).type)};
}

// Reads x and w.
void count_conv(Op& op, const Call& call) {
  count_convolution(op, call, {call.input(0).shape, call.input(1).shape, call.result().shape}, "");
}

// Reads what is y of the convolution, and w.
void count_transpose(Op& op, const Call& call) {
  count_convolution(op, call, {call.result().shape, call.input(1).shape, call.input(0).shape},
                    "_transpose");
}

// Reads the gradient of y, and w.
void count_data_gradient(Op& op, const Call& call) {
  count_convolution(op, call, {call.result().shape, call.input(1).shape, call.input(0).shape},
                    "_backward_data");
}

// Reads the gradient of y, and x.
void count_filter_gradient(Op& op, const Call& call) {
  count_convolution(op, call, {call.input(1).shape, call.result().shape, call.input(0).shape},
                    "_backward_filter");
}

// Only keys of two dimensions say how a window moves.
Attributes conv_from_key(const Op& op) {
  const Shape& key = op.shape;
  ConvAttributes attributes;
  const bool is_depthwise = op.kind.starts_with("depthwise_conv2d");
  if (!(op.kind.starts_with("conv2d") && key.size() == 12) && !(is_depthwise && key.size() == 10)) {
    return attributes;
  }
  // [N, C, H, W, K, R, S, U, V, dilation, P, Q], without K and dilation if it is depthwise.
  const std::size_t r = is_depthwise ? 4 : 5;
  const std::span all(key);
  const std::int64_t dilation = is_depthwise ? 1 : key[9];
  Window& window = attributes.window;
  window = {.strides = {key[r + 2], key[r + 3]}, .dilations = {dilation, dilation}};
  const auto pads = op.kind.ends_with("_transpose")
                        ? transpose_pads(all.subspan(2, 2), all.subspan(r, 2), window, all.last(2))
                        : pads_for(all.subspan(2, 2), all.subspan(r, 2), window, all.last(2));
  window.pads = pads;
  attributes.group = is_depthwise ? key[1] : 1;
  return attributes;
}

// --- Gradients ---

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

// --- Rows ---

constexpr Operator kind_of_conv(std::string_view name, OpClass op_class, std::string_view key,
                                std::string_view summary, Gradient gradient = nullptr) {
  return {.kind = {name, op_class, true, key, summary},
          .gradient = gradient,
          .from_key = conv_from_key};
}

// Of any dimensions.
constexpr Operator any_conv(std::string_view name, std::string_view summary, Count count,
                            Infer infer = nullptr, Gradient gradient = nullptr) {
  return {.kind = {name, kConvolution, true, kResultShape, summary},
          .infer = infer,
          .count = count,
          .gradient = gradient,
          .from_key = conv_from_key,
          .only_imported = true};
}

constexpr std::array kConvolutions = {
    any_conv("conv", "dense convolution of any dimensions", count_conv, infer_conv, conv),
    any_conv("conv_backward_data", "gradient of the feature maps", count_data_gradient),
    any_conv("conv_backward_filter", "gradient of the filters", count_filter_gradient),
    any_conv("conv_transpose", "transposed convolution of any dimensions, in groups or not",
             count_transpose, infer_transpose, conv_transpose),
    any_conv("grouped_conv", "convolution in groups of channels", nullptr, nullptr, conv),
    any_conv("grouped_conv_backward_data", "gradient of the feature maps", nullptr),
    any_conv("grouped_conv_backward_filter", "gradient of the filters", nullptr),
    kind_of_conv("conv2d", kConvolution, kConv, "dense convolution", conv),
    kind_of_conv("conv2d_backward_data", kConvolution, kConv, "gradient of the feature maps"),
    kind_of_conv("conv2d_backward_filter", kConvolution, kConv, "gradient of the filters"),
    kind_of_conv("conv2d_transpose", kConvolution, kTransposed,
                 "transposed convolution; its gradients are a conv2d and a conv2d_backward_filter",
                 conv_transpose),
    kind_of_conv("depthwise_conv2d", kDepthwiseConvolution, kDepthwise,
                 "convolution of each channel on its own", conv),
    kind_of_conv("depthwise_conv2d_backward_data", kDepthwiseConvolution, kDepthwise,
                 "gradient of the feature maps"),
    kind_of_conv("depthwise_conv2d_backward_filter", kDepthwiseConvolution, kDepthwise,
                 "gradient of the filters"),
};

}  // namespace

std::span<const Operator> convolutions() { return kConvolutions; }

}  // namespace emplace::operators

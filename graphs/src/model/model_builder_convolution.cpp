// The layers of ModelBuilder that move a window over feature maps.

#include "assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <utility>

namespace emplace {

const std::vector<std::int64_t>& ModelBuilder::feature_map(Tensor x) const {
  const auto& map = shape(x);
  if (map.size() != 4) {
    fail(fmt::format("expected a feature map [N, C, H, W], found [{}]", fmt::join(map, ", ")));
  }
  return map;
}

void ModelBuilder::check_window(std::array<std::int64_t, 2> kernel, Stride2d stride,
                                std::int64_t dilation) const {
  if (kernel[0] < 1 || kernel[1] < 1 || stride.down < 1 || stride.across < 1 || dilation < 1) {
    fail(
        fmt::format("expected a window, a stride and a dilation of at least 1, found {} x {}, "
                    "{} x {} and {}",
                    kernel[0], kernel[1], stride.down, stride.across, dilation));
  }
}

Window ModelBuilder::window(Tensor x, std::array<std::int64_t, 2> kernel, Stride2d stride,
                            Padding padding, std::int64_t dilation) const {
  const auto& map = feature_map(x);
  check_window(kernel, stride, dilation);
  Window window{.strides = {stride.down, stride.across}, .dilations = {dilation, dilation}};
  window.pads = padding == Padding::kSame
                    ? operators::same_pads(std::span(map).subspan(2), kernel, window)
                    : std::vector<std::int64_t>(4, 0);
  return window;
}

Tensor ModelBuilder::conv2d(Tensor x, const Conv2d& attributes) {
  const auto [filters, kernel, stride, padding, dilation] = attributes;
  if (filters < 1) {
    fail(fmt::format("expected at least 1 filter, found {}", filters));
  }
  const ConvAttributes conv{.window = window(x, kernel, stride, padding, dilation)};
  Op op = make_op("conv2d");
  const Tensor weights = variable(op, "weights", {filters, shape(x)[1], kernel[0], kernel[1]});
  return define(std::move(op), "conv", conv, {x, weights});
}

Tensor ModelBuilder::depthwise_conv2d(Tensor x, const DepthwiseConv2d& attributes) {
  const auto [kernel, stride, padding] = attributes;
  const auto channels = feature_map(x)[1];
  const ConvAttributes conv{.window = window(x, kernel, stride, padding), .group = channels};
  Op op = make_op("depthwise_conv2d");
  const Tensor weights = variable(op, "weights", {channels, 1, kernel[0], kernel[1]});
  return define(std::move(op), "conv", conv, {x, weights});
}

Tensor ModelBuilder::conv2d_transpose(Tensor x, const Conv2d& attributes) {
  const auto [filters, kernel, stride, padding, dilation] = attributes;
  if (filters < 1) {
    fail(fmt::format("expected at least 1 filter, found {}", filters));
  }
  const auto& map = feature_map(x);
  check_window(kernel, stride, dilation);
  ConvAttributes conv{.window = {.strides = {stride.down, stride.across},
                                 .dilations = {dilation, dilation},
                                 .pads = {0, 0, 0, 0}}};
  if (padding == Padding::kSame) {
    const std::span places = std::span(map).subspan(2);
    const std::array extents{product({places[0], stride.down}),
                             product({places[1], stride.across})};
    conv.window.pads = operators::transpose_pads(extents, kernel, conv.window, places);
  }
  Op op = make_op("conv2d_transpose");
  const Tensor weights = variable(op, "weights", {shape(x)[1], filters, kernel[0], kernel[1]});
  return define(std::move(op), "conv_transpose", conv, {x, weights});
}

Tensor ModelBuilder::max_pool(Tensor x, const Pool2d& attributes) {
  const auto [kernel, stride, padding] = attributes;
  return define(make_op("max_pool"), "max_pool",
                PoolAttributes{.kernel_shape = {kernel, kernel},
                               .window = window(x, {kernel, kernel}, stride, padding)},
                {x});
}

Tensor ModelBuilder::avg_pool(Tensor x, const Pool2d& attributes) {
  const auto [kernel, stride, padding] = attributes;
  return define(make_op("avg_pool"), "avg_pool",
                PoolAttributes{.kernel_shape = {kernel, kernel},
                               .window = window(x, {kernel, kernel}, stride, padding)},
                {x});
}

Tensor ModelBuilder::global_avg_pool(Tensor x) {
  const auto map = feature_map(x);
  Op op = make_op("avg_pool");
  op.outputs = {make_output({map[0], map[1]}, value_of(graph_, x).type)};
  return define(std::move(op), "avg_pool",
                PoolAttributes{.kernel_shape = {map[2], map[3]},
                               .window = window(x, {map[2], map[3]}, 1, Padding::kValid)},
                {x});
}

Tensor ModelBuilder::channel_bias_add(Tensor x) {
  if (shape(x).size() < 2) {
    fail(fmt::format("expected a tensor [N, C, ...], found [{}]", fmt::join(shape(x), ", ")));
  }
  Op op = make_op("bias_add");
  const Tensor bias = variable(op, "bias", {shape(x)[1]});
  return define(std::move(op), "bias_add", AxisAttributes{.axis = 1}, {x, bias});
}

Tensor ModelBuilder::shift2d(Tensor x) {
  feature_map(x);
  return define("shift2d", {x});
}

}  // namespace emplace

// The layers of ModelBuilder that move a window over feature maps.

#include "assemble.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

ModelBuilder::Window ModelBuilder::window(Tensor x, std::array<std::int64_t, 2> kernel,
                                          Stride2d stride, Padding padding,
                                          std::int64_t dilation) const {
  const auto& map = feature_map(x);
  check_window(kernel, stride, dilation);
  const auto positions = [&](std::int64_t extent, std::int64_t taps, std::int64_t step) {
    const auto width = sum({product({taps - 1, dilation}), 1});
    if (padding == Padding::kSame) {
      return (extent - 1) / step + 1;
    }
    if (extent < width) {
      fail(fmt::format("a window of {} x {} does not fit a map of {} x {}", kernel[0], kernel[1],
                       map[2], map[3]));
    }
    return (extent - width) / step + 1;
  };
  return {map[0],
          map[1],
          map[2],
          map[3],
          positions(map[2], kernel[0], stride.down),
          positions(map[3], kernel[1], stride.across)};
}

Tensor ModelBuilder::conv2d(Tensor x, const Conv2d& attributes) {
  const auto [filters, kernel, stride, padding, dilation] = attributes;
  if (filters < 1) {
    fail(fmt::format("expected at least 1 filter, found {}", filters));
  }
  const auto [n, c, h, w, p, q] = window(x, kernel, stride, padding, dilation);
  Op op = make_op("conv2d");
  const Tensor weights = variable(op, "weights", {filters, c, kernel[0], kernel[1]});
  op.shape = {n,        c, h, w, filters, kernel[0], kernel[1], stride.down, stride.across,
              dilation, p, q};
  op.flops = product({2, n, filters, p, q, c, kernel[0], kernel[1]});
  op.outputs = {make_output({n, filters, p, q}, value_of(graph_, x).type)};
  return emit(std::move(op), {x, weights});
}

Tensor ModelBuilder::depthwise_conv2d(Tensor x, const DepthwiseConv2d& attributes) {
  const auto [kernel, stride, padding] = attributes;
  const auto [n, c, h, w, p, q] = window(x, kernel, stride, padding);
  Op op = make_op("depthwise_conv2d");
  const Tensor weights = variable(op, "weights", {c, 1, kernel[0], kernel[1]});
  op.shape = {n, c, h, w, kernel[0], kernel[1], stride.down, stride.across, p, q};
  op.flops = product({2, n, c, p, q, kernel[0], kernel[1]});
  op.outputs = {make_output({n, c, p, q}, value_of(graph_, x).type)};
  return emit(std::move(op), {x, weights});
}

Tensor ModelBuilder::conv2d_transpose(Tensor x, const Conv2d& attributes) {
  const auto [filters, kernel, stride, padding, dilation] = attributes;
  if (filters < 1) {
    fail(fmt::format("expected at least 1 filter, found {}", filters));
  }
  const std::vector<std::int64_t> map = feature_map(x);
  check_window(kernel, stride, dilation);
  const auto extent = [same = padding == Padding::kSame, dilation = dilation](
                          std::int64_t positions, std::int64_t taps, std::int64_t step) {
    return same ? product({positions, step})
                : sum({product({positions - 1, step}), product({taps - 1, dilation}), 1});
  };
  const auto n = map[0];
  const auto c = map[1];
  const auto p = map[2];
  const auto q = map[3];
  const auto h = extent(p, kernel[0], stride.down);
  const auto w = extent(q, kernel[1], stride.across);
  Op op = make_op("conv2d_transpose");
  const Tensor weights = variable(op, "weights", {c, filters, kernel[0], kernel[1]});
  op.shape = {n,           filters,       h,        w, c, kernel[0], kernel[1],
              stride.down, stride.across, dilation, p, q};
  op.flops = product({2, n, c, p, q, filters, kernel[0], kernel[1]});
  op.outputs = {make_output({n, filters, h, w}, value_of(graph_, x).type)};
  return emit(std::move(op), {x, weights});
}

Op ModelBuilder::make_pool(std::string_view kind, Tensor x, std::array<std::int64_t, 2> kernel,
                           std::int64_t stride, Padding padding) {
  const auto [n, c, h, w, p, q] = window(x, kernel, stride, padding);
  Op op = make_op(kind);
  op.shape = {n, c, h, w, kernel[0], kernel[1], stride, p, q};
  op.outputs = {make_output({n, c, p, q}, value_of(graph_, x).type)};
  return op;
}

Tensor ModelBuilder::max_pool(Tensor x, const Pool2d& attributes) {
  const auto [kernel, stride, padding] = attributes;
  Op op = make_pool("max_pool", x, {kernel, kernel}, stride, padding);
  op.flops = product({product(op.outputs[0].shape), product({kernel, kernel}) - 1});
  return emit(std::move(op), {x});
}

Tensor ModelBuilder::avg_pool(Tensor x, const Pool2d& attributes) {
  const auto [kernel, stride, padding] = attributes;
  Op op = make_pool("avg_pool", x, {kernel, kernel}, stride, padding);
  op.flops = product({product(op.outputs[0].shape), kernel, kernel});
  return emit(std::move(op), {x});
}

Tensor ModelBuilder::global_avg_pool(Tensor x) {
  const auto [n, c, h, w, p, q] = window(x, {1, 1}, 1, Padding::kValid);
  Op op = make_pool("avg_pool", x, {h, w}, 1, Padding::kValid);
  op.flops = product(shape(x));
  op.outputs[0].shape = {n, c};
  return emit(std::move(op), {x});
}

Tensor ModelBuilder::channel_bias_add(Tensor x) {
  const Output value = value_of(graph_, x);
  if (value.shape.size() < 2) {
    fail(fmt::format("expected a tensor [N, C, ...], found [{}]", fmt::join(value.shape, ", ")));
  }
  const auto n = value.shape[0];
  const auto channels = value.shape[1];
  Op op = make_op("bias_add");
  const Tensor bias = variable(op, "bias", {channels});
  op.flops = product(value.shape);
  op.shape = {n, channels, op.flops / (n * channels)};
  op.outputs = {make_output(value.shape, value.type)};
  return emit(std::move(op), {x, bias});
}

Tensor ModelBuilder::shift2d(Tensor x) {
  feature_map(x);
  return elementwise("shift2d", 0, x);
}

}  // namespace emplace

#include "search_cells.hpp"

#include "image_layers.hpp"

#include <emplace/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace emplace {
namespace {

// The states of one cell, in the order in which they are made.
class Cell {
 public:
  Cell(ModelBuilder& net, std::int64_t filters, std::int64_t stride)
      : net_(net), filters_(filters), stride_(stride) {}

  Tensor build(const CellDesign& design, Tensor x, std::optional<Tensor> previous) {
    {
      const auto scope = net_.scope("squeeze");
      states_.push_back(relu_conv_norm(net_, x, {.filters = filters_}));
    }
    states_.push_back(previous ? adjusted(*previous, x) : x);
    for (std::size_t i = 0; i < design.blocks.size(); ++i) {
      const auto scope = net_.scope(fmt::format("branch_{}", i));
      const auto& [left, right] = design.blocks[i];
      const Tensor first = apply(left);
      states_.push_back(net_.add(first, apply(right)));
    }
    std::vector<Tensor> results;
    for (const auto state : design.results) {
      results.push_back(result(state));
    }
    return net_.concat(results);
  }

 private:
  std::int64_t channels(Tensor x) const { return net_.shape(x)[1]; }
  std::int64_t rows(Tensor x) const { return net_.shape(x)[2]; }

  Tensor adjusted(Tensor previous, Tensor x) {
    const auto scope = net_.scope("adjust");
    if (rows(previous) != rows(x)) {
      return factorized_reduction(net_, net_.relu(previous), filters_);
    }
    return channels(previous) != filters_ ? relu_conv_norm(net_, previous, {.filters = filters_})
                                          : previous;
  }

  // States 0 and 1 of a reduction cell are larger than what is made of them.
  Tensor result(std::int64_t state) {
    const Tensor x = states_.at(static_cast<std::size_t>(state));
    if (rows(x) == rows(states_.back())) {
      return x;
    }
    const auto scope = net_.scope(fmt::format("reduce_{}", state));
    return factorized_reduction(net_, x, filters_);
  }

  Tensor apply(const CellStep& step) {
    const Tensor x = states_.at(static_cast<std::size_t>(step.state));
    const std::int64_t stride = step.state < 2 ? stride_ : 1;
    switch (step.op) {
      case CellOp::kIdentity:
        return identity(x, stride);
      case CellOp::kSeparable3x3:
        return separable(separable(x, 3, stride), 3, 1);
      case CellOp::kSeparable5x5:
        return separable(separable(x, 5, stride), 5, 1);
      case CellOp::kSeparable7x7:
        return separable(separable(x, 7, stride), 7, 1);
      case CellOp::kAvgPool3x3:
        return with_filters(
            net_.avg_pool(x, {.kernel = 3, .stride = stride, .padding = Padding::kSame}));
      case CellOp::kMaxPool2x2:
        return with_filters(
            net_.max_pool(x, {.kernel = 2, .stride = stride, .padding = Padding::kSame}));
      case CellOp::kMaxPool3x3:
        return with_filters(
            net_.max_pool(x, {.kernel = 3, .stride = stride, .padding = Padding::kSame}));
      case CellOp::kConv1x1:
        return relu_conv_norm(net_, x, {.filters = filters_, .stride = stride});
      case CellOp::kConv3x3:
        return bottleneck(x, std::array{Conv2d{.kernel = {3, 3}, .stride = stride}});
      case CellOp::kConv1x7And7x1:
        return bottleneck(x, std::array{Conv2d{.kernel = {1, 7}, .stride = {1, stride}},
                                        Conv2d{.kernel = {7, 1}, .stride = {stride, 1}}});
    }
    EMPLACE_CHECK(false, "cell op {}", static_cast<int>(step.op));
  }

  Tensor identity(Tensor x, std::int64_t stride) {
    if (stride > 1) {
      return factorized_reduction(net_, x, filters_);
    }
    return channels(x) != filters_ ? relu_conv_norm(net_, x, {.filters = filters_}) : x;
  }

  Tensor separable(Tensor x, std::int64_t width, std::int64_t stride) {
    x = net_.depthwise_conv2d(net_.relu(x), {.kernel = {width, width}, .stride = stride});
    return conv_norm(net_, x, {.filters = filters_});
  }

  Tensor with_filters(Tensor x) {
    return channels(x) != filters_ ? conv_norm(net_, x, {.filters = filters_}) : x;
  }

  Tensor bottleneck(Tensor x, std::span<const Conv2d> convolutions) {
    const std::int64_t quarter = std::max<std::int64_t>(1, filters_ / 4);
    x = relu_conv_norm(net_, x, {.filters = quarter});
    for (Conv2d convolution : convolutions) {
      convolution.filters = quarter;
      x = relu_conv_norm(net_, x, convolution);
    }
    return relu_conv_norm(net_, x, {.filters = filters_});
  }

  ModelBuilder& net_;
  std::int64_t filters_;
  std::int64_t stride_;
  std::vector<Tensor> states_{};
};

}  // namespace

Tensor search_cell(ModelBuilder& net, const CellDesign& design, Tensor x,
                   std::optional<Tensor> previous, std::int64_t filters, std::int64_t stride) {
  return Cell(net, filters, stride).build(design, x, previous);
}

Tensor factorized_reduction(ModelBuilder& net, Tensor x, std::int64_t filters) {
  constexpr Pool2d kEverySecond{.kernel = 1, .stride = 2, .padding = Padding::kValid};
  const auto half = [&](Tensor path, std::int64_t half_filters) {
    return net.conv2d(net.avg_pool(path, kEverySecond), {.filters = half_filters});
  };
  const Tensor straight = half(x, filters / 2);
  const std::array halves{straight, half(net.shift2d(x), filters - filters / 2)};
  return net.batch_norm(net.concat(halves));
}

}  // namespace emplace

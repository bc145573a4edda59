#include "enas.hpp"

#include "image_layers.hpp"
#include "search_cells.hpp"

#include <emplace/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace emplace {
namespace {

constexpr std::int64_t kPixels = 32;
constexpr std::int64_t kClasses = 10;
constexpr const char* kSource = "Pham et al. 2018, arXiv 1802.03268";

void classify(ModelBuilder& net, Tensor x, Tensor labels) {
  const auto scope = net.scope("logits");
  const Tensor features = net.dropout(net.global_avg_pool(x));
  net.softmax_cross_entropy(net.dense(features, kClasses), labels);
}

Tensor stem(ModelBuilder& net, Tensor images, std::int64_t filters) {
  const auto scope = net.scope("stem");
  return conv_norm(net, images, {.filters = filters, .kernel = {3, 3}});
}

class MacroNetwork {
 public:
  MacroNetwork(std::span<const std::int64_t> architecture, std::int64_t layers,
               const EnasSize& size)
      : net_("enas-macro", kSource), rest_(architecture), num_layers_(layers), size_(size) {}

  OpGraph build() && {
    const auto [images, labels] = image_batch(net_, size_.batch, kPixels);
    append(stem(net_, images, size_.filters));
    const std::int64_t third = num_layers_ / 3;
    for (std::int64_t layer = 0; layer < num_layers_; ++layer) {
      const auto scope = net_.scope(fmt::format("layer_{}", layer));
      append(add_layer(layer));
      if (layer == third - 1 || layer == 2 * third - 1) {
        ++stage_;
      }
    }
    EMPLACE_CHECK(rest_.empty(), "{} numbers too many", rest_.size());
    classify(net_, layers_.back().results.back(), labels);
    return std::move(net_).finish();
  }

 private:
  // A layer's result at the stage in which it was made, and at the later stages that asked for it.
  struct Layer {
    std::int64_t first_stage;
    std::vector<Tensor> results;
  };

  std::int64_t filters() const { return size_.filters << stage_; }

  void append(Tensor result) { layers_.push_back({.first_stage = stage_, .results = {result}}); }

  std::int64_t take() {
    EMPLACE_CHECK(!rest_.empty(), "an architecture of {} layers ends too soon", num_layers_);
    const auto number = rest_.front();
    rest_ = rest_.subspan(1);
    return number;
  }

  // Layer 0 is the stem.
  Tensor result_of(std::int64_t index) {
    Layer& layer = layers_.at(static_cast<std::size_t>(index));
    for (auto stage = layer.first_stage + std::ssize(layer.results); stage <= stage_; ++stage) {
      const auto scope = net_.scope(fmt::format("reduce_{}", index));
      layer.results.push_back(
          factorized_reduction(net_, layer.results.back(), size_.filters << stage));
    }
    return layer.results.back();
  }

  Tensor add_layer(std::int64_t layer) {
    const auto op = take();
    Tensor x = apply(op, result_of(layer));
    std::vector<Tensor> parts;
    for (std::int64_t before = 0; before < layer; ++before) {
      if (take() != 0) {
        parts.push_back(result_of(before));
      }
    }
    if (layer == 0) {
      return x;
    }
    parts.push_back(x);
    if (parts.size() > 1) {
      x = net_.concat(parts);
    }
    return relu_conv_norm(net_, x, {.filters = filters()});
  }

  Tensor apply(std::int64_t op, Tensor x) {
    x = conv_norm_relu(net_, x, {.filters = filters()});
    constexpr Pool2d kWindow{.kernel = 3, .stride = 1, .padding = Padding::kSame};
    switch (op) {
      case 0:
        return convolve(x, 3);
      case 1:
        return convolve_separably(x, 3);
      case 2:
        return convolve(x, 5);
      case 3:
        return convolve_separably(x, 5);
      case 4:
        return net_.avg_pool(x, kWindow);
      case 5:
        return net_.max_pool(x, kWindow);
    }
    EMPLACE_CHECK(false, "macro op {}", op);
  }

  Tensor convolve(Tensor x, std::int64_t width) {
    return conv_norm_relu(net_, x, {.filters = filters(), .kernel = {width, width}});
  }

  Tensor convolve_separably(Tensor x, std::int64_t width) {
    x = net_.depthwise_conv2d(x, {.kernel = {width, width}});
    return conv_norm_relu(net_, x, {.filters = filters()});
  }

  ModelBuilder net_;
  std::span<const std::int64_t> rest_;  // of the architecture
  std::int64_t num_layers_;
  EnasSize size_;
  std::int64_t stage_ = 0;
  std::vector<Layer> layers_{};
};

CellStep micro_step(std::int64_t input, std::int64_t op) {
  constexpr std::array kOps{CellOp::kSeparable3x3, CellOp::kSeparable5x5, CellOp::kAvgPool3x3,
                            CellOp::kMaxPool3x3, CellOp::kIdentity};
  static_assert(kOps.size() == kEnasMicroOps);
  // ENAS numbers the layer before last 0 and the last 1, search_cell() the other way round.
  return {input < 2 ? 1 - input : input, kOps.at(static_cast<std::size_t>(op))};
}

CellDesign micro_cell(std::span<const std::int64_t> architecture) {
  CellDesign design;
  for (std::size_t at = 0; at < architecture.size(); at += 4) {
    design.blocks.push_back({micro_step(architecture[at], architecture[at + 1]),
                             micro_step(architecture[at + 2], architecture[at + 3])});
  }
  for (std::int64_t state = 0; state < std::ssize(design.blocks) + 2; ++state) {
    if (std::ranges::none_of(design.blocks, [&](const CellBlock& block) {
          return block.left.state == state || block.right.state == state;
        })) {
      design.results.push_back(state);
    }
  }
  return design;
}

}  // namespace

OpGraph enas_macro_network(std::span<const std::int64_t> architecture, std::int64_t layers,
                           const EnasSize& size) {
  return MacroNetwork(architecture, layers, size).build();
}

OpGraph enas_micro_network(std::span<const std::int64_t> architecture, std::int64_t cells,
                           const EnasSize& size) {
  EMPLACE_CHECK(!architecture.empty() && architecture.size() % 8 == 0,
                "a micro architecture of {} numbers", architecture.size());
  const CellDesign normal = micro_cell(architecture.first(architecture.size() / 2));
  const CellDesign reduction = micro_cell(architecture.last(architecture.size() / 2));
  ModelBuilder net("enas-micro", kSource);
  const auto [images, labels] = image_batch(net, size.batch, kPixels);
  Tensor layer = stem(net, images, 3 * size.filters);
  Tensor previous = layer;
  std::int64_t filters = size.filters;
  for (std::int64_t i = 0; i < 3 * cells + 2; ++i) {
    const auto scope = net.scope(fmt::format("cell_{}", i));
    const bool reduces = i == cells || i == 2 * cells + 1;
    filters *= reduces ? 2 : 1;
    Tensor x = layer;
    if (net.shape(x)[1] != filters) {
      const auto inner = net.scope("calibrate");
      x = relu_conv_norm(net, x, {.filters = filters});
    }
    const Tensor result =
        search_cell(net, reduces ? reduction : normal, x, previous, filters, reduces ? 2 : 1);
    previous = std::exchange(layer, result);
  }
  {
    const auto scope = net.scope("logits");
    layer = net.relu(layer);
  }
  classify(net, layer, labels);
  return std::move(net).finish();
}

}  // namespace emplace

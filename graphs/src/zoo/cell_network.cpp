#include "cell_network.hpp"

#include "image_layers.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace emplace {
namespace {

constexpr std::int64_t kStacks = 3;

class CellNetworkBuilder {
 public:
  explicit CellNetworkBuilder(const CellNetwork& network)
      : network_(network), net_(network.name, network.source) {}

  OpGraph build() && {
    const auto [images, labels] = image_batch(net_, network_.batch, network_.pixels);
    stem(images);
    std::vector<Tensor> losses;
    std::int64_t filters = network_.filters;
    for (std::int64_t stack = 0; stack < kStacks; ++stack) {
      if (stack > 0) {
        filters *= 2;
        const auto before = previous_;
        reduction_cell(fmt::format("reduction_cell_{}", stack - 1), filters);
        if (network_.skips_reduction_input) {
          previous_ = before;
        }
      }
      for (std::int64_t cell = 0; cell < network_.cells; ++cell) {
        const auto scope = net_.scope(fmt::format("cell_{}", stack * network_.cells + cell));
        append(search_cell(net_, network_.normal, layer_, previous_, filters, 1));
      }
      if (stack == 1 && network_.auxiliary) {
        losses.push_back(auxiliary_loss(labels));
      }
    }
    const auto scope = net_.scope("logits");
    const Tensor features = net_.dropout(net_.global_avg_pool(net_.relu(layer_)));
    losses.push_back(net_.softmax_cross_entropy(net_.dense(features, kImageNetClasses), labels));
    if (network_.auxiliary) {
      net_.add_losses(losses);
    }
    return std::move(net_).finish();
  }

 private:
  void stem(Tensor images) {
    {
      const auto scope = net_.scope("stem");
      layer_ = conv_norm(net_, images,
                         {.filters = network_.stem_filters,
                          .kernel = {3, 3},
                          .stride = 2,
                          .padding = Padding::kValid});
    }
    reduction_cell("cell_stem_0", network_.filters / 4);
    reduction_cell("cell_stem_1", network_.filters / 2);
  }

  void reduction_cell(std::string_view name, std::int64_t filters) {
    const auto scope = net_.scope(name);
    append(search_cell(net_, network_.reduction, layer_, previous_, filters, 2));
  }

  void append(Tensor layer) { previous_ = std::exchange(layer_, layer); }

  Tensor auxiliary_loss(Tensor labels) {
    const auto scope = net_.scope("auxiliary");
    Tensor x =
        net_.avg_pool(net_.relu(layer_), {.kernel = 5, .stride = 3, .padding = Padding::kValid});
    x = conv_norm_relu(net_, x, {.filters = 128});
    const auto& map = net_.shape(x);
    x = conv_norm_relu(net_, x,
                       {.filters = 768, .kernel = {map[2], map[3]}, .padding = Padding::kValid});
    return net_.softmax_cross_entropy(net_.dense(net_.flatten(x), kImageNetClasses), labels);
  }

  const CellNetwork& network_;
  ModelBuilder net_;
  Tensor layer_{};
  std::optional<Tensor> previous_{};  // the layer before `layer_`
};

}  // namespace

OpGraph cell_network(const CellNetwork& network) { return CellNetworkBuilder(network).build(); }

}  // namespace emplace

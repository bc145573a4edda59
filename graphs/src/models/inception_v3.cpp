// Inception-V3 (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for
// Computer Vision, CVPR 2016, arXiv 1512.00567, table 1 and figures 5 to 7), in the layout of the
// published TF-slim and torchvision models. Each convolution is followed by batch_norm and relu.
//
// Scopes: "stem/...", then "mixed_5b/branch_0" and so on, then "logits" and "auxiliary". A block's
// concat stands in the block's own scope.

#include "image_layers.hpp"
#include "inception_layers.hpp"
#include "training_model.hpp"

#include <string_view>
#include <vector>

namespace emplace::inception_v3 {
namespace {

class InceptionV3 {
 public:
  explicit InceptionV3(std::int64_t batch)
      : net_("inception-v3", "Szegedy et al. 2015, arXiv 1512.00567"), batch_(batch) {}

  OpGraph build(bool auxiliary) && {
    const auto [images, labels] = image_batch(net_, batch_, 299);
    Tensor x = stem(images);
    x = block_35("mixed_5b", x, 32);
    x = block_35("mixed_5c", x, 64);
    x = block_35("mixed_5d", x, 64);
    x = reduction_35_to_17("mixed_6a", x);
    x = block_17("mixed_6b", x, 128);
    x = block_17("mixed_6c", x, 160);
    x = block_17("mixed_6d", x, 160);
    x = block_17("mixed_6e", x, 192);
    std::vector<Tensor> losses;
    if (auxiliary) {
      losses.push_back(auxiliary_loss(x, labels));
    }
    x = reduction_17_to_8("mixed_7a", x);
    x = block_8("mixed_7b", x);
    x = block_8("mixed_7c", x);
    {
      const auto scope = net_.scope("logits");
      x = net_.dropout(net_.global_avg_pool(x));
      losses.push_back(net_.softmax_cross_entropy(net_.dense(x, kImageNetClasses), labels));
      if (auxiliary) {
        net_.add_losses(losses);
      }
    }
    return std::move(net_).finish();
  }

 private:
  // 299 x 299 x 3 to 35 x 35 x 192.
  Tensor stem(Tensor x) {
    const auto scope = net_.scope("stem");
    const auto layer = [&](std::string_view name, auto&& apply) {
      const auto inner = net_.scope(name);
      x = apply();
    };
    layer("conv_1a", [&] { return layers_.reduce(x, 32); });
    layer("conv_2a", [&] { return layers_.conv(x, 32, {3, 3}, 1, Padding::kValid); });
    layer("conv_2b", [&] { return layers_.conv(x, 64, {3, 3}); });
    layer("pool_3a", [&] { return layers_.max_pool(x); });
    layer("conv_3b", [&] { return layers_.conv(x, 80, {1, 1}); });
    layer("conv_4a", [&] { return layers_.conv(x, 192, {3, 3}, 1, Padding::kValid); });
    layer("pool_5a", [&] { return layers_.max_pool(x); });
    return x;
  }

  // Figure 5, with one 5x5 where the figure has two 3x3.
  Tensor block_35(std::string_view name, Tensor x, std::int64_t pool_filters) {
    const auto scope = net_.scope(name);
    std::vector parts{layers_.one_by_one(x, 64)};
    {
      const auto inner = layers_.branch(1);
      parts.push_back(layers_.conv(layers_.conv(x, 48, {1, 1}), 64, {5, 5}));
    }
    {
      const auto inner = layers_.branch(2);
      parts.push_back(
          layers_.conv(layers_.conv(layers_.conv(x, 64, {1, 1}), 96, {3, 3}), 96, {3, 3}));
    }
    parts.push_back(layers_.smoothed(x, pool_filters));
    return net_.concat(parts);
  }

  Tensor reduction_35_to_17(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    std::vector<Tensor> parts;
    {
      const auto inner = layers_.branch(1);
      parts.push_back(layers_.reduce(x, 384));
    }
    {
      const auto inner = layers_.branch(2);
      parts.push_back(layers_.reduce(layers_.conv(layers_.conv(x, 64, {1, 1}), 96, {3, 3}), 96));
    }
    parts.push_back(layers_.max_pooled(x));
    return net_.concat(parts);
  }

  // Figure 6: n x n windows as 1 x n and n x 1, with n = 7 and `inner_filters` within the branches.
  Tensor block_17(std::string_view name, Tensor x, std::int64_t inner_filters) {
    const auto scope = net_.scope(name);
    std::vector parts{layers_.one_by_one(x, 192)};
    {
      const auto inner = layers_.branch(1);
      Tensor y = layers_.conv(x, inner_filters, {1, 1});
      y = layers_.conv(y, inner_filters, {1, 7});
      parts.push_back(layers_.conv(y, 192, {7, 1}));
    }
    {
      const auto inner = layers_.branch(2);
      Tensor y = layers_.conv(x, inner_filters, {1, 1});
      y = layers_.conv(y, inner_filters, {7, 1});
      y = layers_.conv(y, inner_filters, {1, 7});
      y = layers_.conv(y, inner_filters, {7, 1});
      parts.push_back(layers_.conv(y, 192, {1, 7}));
    }
    parts.push_back(layers_.smoothed(x, 192));
    return net_.concat(parts);
  }

  Tensor reduction_17_to_8(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    std::vector<Tensor> parts;
    {
      const auto inner = layers_.branch(1);
      parts.push_back(layers_.reduce(layers_.conv(x, 192, {1, 1}), 320));
    }
    {
      const auto inner = layers_.branch(2);
      Tensor y = layers_.conv(x, 192, {1, 1});
      y = layers_.conv(y, 192, {1, 7});
      y = layers_.conv(y, 192, {7, 1});
      parts.push_back(layers_.reduce(y, 192));
    }
    parts.push_back(layers_.max_pooled(x));
    return net_.concat(parts);
  }

  // Figure 7: branches that fan out into 1x3 and 3x1 at their end.
  Tensor block_8(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    std::vector parts{layers_.one_by_one(x, 320)};
    {
      const auto inner = layers_.branch(1);
      parts.push_back(layers_.fan_out(layers_.conv(x, 384, {1, 1}), 384));
    }
    {
      const auto inner = layers_.branch(2);
      parts.push_back(
          layers_.fan_out(layers_.conv(layers_.conv(x, 448, {1, 1}), 384, {3, 3}), 384));
    }
    parts.push_back(layers_.smoothed(x, 192));
    return net_.concat(parts);
  }

  // The auxiliary classifier on the last 17 x 17 map; its loss has weight 0.4 in the paper's
  // training.
  Tensor auxiliary_loss(Tensor x, Tensor labels) {
    const auto scope = net_.scope("auxiliary");
    x = net_.avg_pool(x, {.kernel = 5, .stride = 3, .padding = Padding::kValid});
    x = layers_.conv(x, 128, {1, 1});
    x = layers_.conv(x, 768, {5, 5}, 1, Padding::kValid);
    return net_.softmax_cross_entropy(net_.dense(net_.flatten(x), kImageNetClasses), labels);
  }

  ModelBuilder net_;
  InceptionLayers layers_{net_};
  std::int64_t batch_;
};

const GraphRegistration kRegistration(training_model(
    {.name = "inception-v3",
     .summary = "image classifier with parallel branches, 299 x 299 pixels",
     .reference = "Szegedy et al., CVPR 2016, arXiv 1512.00567",
     .parameters = {{.name = "auxiliary",
                     .default_value = false,
                     .summary = "with the auxiliary classifier on mixed_6e"}},
     .forward = [](const Params& params) {
       return InceptionV3(params.get<std::int64_t>("batch")).build(params.get<bool>("auxiliary"));
     }}));

}  // namespace
}  // namespace emplace::inception_v3

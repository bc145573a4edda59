// Inception-V3 (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for
// Computer Vision, CVPR 2016, arXiv 1512.00567, table 1 and figures 5 to 7), in the layout of the
// published TF-slim and torchvision models. Each convolution is followed by batch_norm and relu.
//
// Scopes: "stem/...", then "mixed_5b/branch_0" and so on, then "logits" and "auxiliary". A block's
// concat stands in the block's own scope.

#include "image_layers.hpp"
#include "inception_layers.hpp"
#include "training_model.hpp"

#include <array>
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
    layer("conv_1a", [&] { return conv_norm_relu(net_, x, halving(32)); });
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
    return net_.concat(std::array{layers_.one_by_one(x, 64),
                                  layers_.branch(1, x, {{48}, {64, {5, 5}}}),
                                  layers_.branch(2, x, {{64}, {96, {3, 3}}, {96, {3, 3}}}),
                                  layers_.smoothed(x, pool_filters)});
  }

  Tensor reduction_35_to_17(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    return net_.concat(std::array{layers_.branch(1, x, {halving(384)}),
                                  layers_.branch(2, x, {{64}, {96, {3, 3}}, halving(96)}),
                                  layers_.max_pooled(x)});
  }

  // Figure 6: n x n windows as 1 x n and n x 1, with n = 7 and `inner` filters within the branches.
  Tensor block_17(std::string_view name, Tensor x, std::int64_t inner) {
    const auto scope = net_.scope(name);
    return net_.concat(std::array{
        layers_.one_by_one(x, 192), layers_.branch(1, x, {{inner}, {inner, {1, 7}}, {192, {7, 1}}}),
        layers_.branch(2, x,
                       {{inner}, {inner, {7, 1}}, {inner, {1, 7}}, {inner, {7, 1}}, {192, {1, 7}}}),
        layers_.smoothed(x, 192)});
  }

  Tensor reduction_17_to_8(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    return net_.concat(
        std::array{layers_.branch(1, x, {{192}, halving(320)}),
                   layers_.branch(2, x, {{192}, {192, {1, 7}}, {192, {7, 1}}, halving(192)}),
                   layers_.max_pooled(x)});
  }

  // Figure 7: branches that fan out into 1x3 and 3x1 at their end.
  Tensor block_8(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    return net_.concat(std::array{
        layers_.one_by_one(x, 320), layers_.fanning_branch(1, x, {{384}}, 384),
        layers_.fanning_branch(2, x, {{448}, {384, {3, 3}}}, 384), layers_.smoothed(x, 192)});
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

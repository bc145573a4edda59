// Inception-v4 (Szegedy, Ioffe, Vanhoucke, Alemi: Inception-v4, Inception-ResNet and the Impact of
// Residual Connections on Learning, AAAI 2017, arXiv 1602.07261, figures 3 to 9), in the layout of
// the published TF-slim and timm models. Scopes as in Inception-V3: "stem/...", then
// "mixed_3a/branch_1" and so on, "logits".

#include "image_layers.hpp"
#include "inception_layers.hpp"
#include "training_model.hpp"

#include <array>
#include <string_view>

namespace emplace::inception_v4 {
namespace {

class InceptionV4 {
 public:
  explicit InceptionV4(std::int64_t batch)
      : net_("inception-v4", "Szegedy et al. 2016, arXiv 1602.07261"), batch_(batch) {}

  OpGraph build() && {
    const auto [images, labels] = image_batch(net_, batch_, 299);
    Tensor x = stem(images);
    for (const char* name : {"mixed_5b", "mixed_5c", "mixed_5d", "mixed_5e"}) {
      x = block_35(name, x);
    }
    x = reduction_35_to_17("mixed_6a", x);
    for (const char* name :
         {"mixed_6b", "mixed_6c", "mixed_6d", "mixed_6e", "mixed_6f", "mixed_6g", "mixed_6h"}) {
      x = block_17(name, x);
    }
    x = reduction_17_to_8("mixed_7a", x);
    for (const char* name : {"mixed_7b", "mixed_7c", "mixed_7d"}) {
      x = block_8(name, x);
    }
    {
      const auto scope = net_.scope("logits");
      x = net_.dropout(net_.global_avg_pool(x));
      net_.softmax_cross_entropy(net_.dense(x, kImageNetClasses), labels);
    }
    return std::move(net_).finish();
  }

 private:
  // Figure 3: 299 x 299 x 3 to 35 x 35 x 384.
  Tensor stem(Tensor x) {
    const auto layer = [&](std::string_view name, const Conv2d& convolution) {
      const auto scope = net_.scope(name);
      x = conv_norm_relu(net_, x, convolution);
    };
    layer("stem/conv_1a", halving(32));
    layer("stem/conv_2a", {.filters = 32, .kernel = {3, 3}, .padding = Padding::kValid});
    layer("stem/conv_2b", {.filters = 64, .kernel = {3, 3}});
    x = halve("mixed_3a", x, 96);
    x = deepen("mixed_4a", x);
    return halve("mixed_5a", x, 192);
  }

  // A strided convolution beside a pool.
  Tensor halve(std::string_view name, Tensor x, std::int64_t filters) {
    const auto scope = net_.scope(name);
    return net_.concat(std::array{layers_.branch(1, x, {halving(filters)}), layers_.max_pooled(x)});
  }

  Tensor deepen(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    const Conv2d last{.filters = 96, .kernel = {3, 3}, .padding = Padding::kValid};
    return net_.concat(std::array{layers_.branch(1, x, {{64}, last}),
                                  layers_.branch(2, x, {{64}, {64, {1, 7}}, {64, {7, 1}}, last})});
  }

  // Figure 4.
  Tensor block_35(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    return net_.concat(std::array{
        layers_.one_by_one(x, 96), layers_.branch(1, x, {{64}, {96, {3, 3}}}),
        layers_.branch(2, x, {{64}, {96, {3, 3}}, {96, {3, 3}}}), layers_.smoothed(x, 96)});
  }

  // Figure 7 with k = 192, l = 224, m = 256, n = 384.
  Tensor reduction_35_to_17(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    return net_.concat(std::array{layers_.branch(1, x, {halving(384)}),
                                  layers_.branch(2, x, {{192}, {224, {3, 3}}, halving(256)}),
                                  layers_.max_pooled(x)});
  }

  // Figure 5.
  Tensor block_17(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    return net_.concat(std::array{
        layers_.one_by_one(x, 384), layers_.branch(1, x, {{192}, {224, {1, 7}}, {256, {7, 1}}}),
        layers_.branch(2, x, {{192}, {192, {7, 1}}, {224, {1, 7}}, {224, {7, 1}}, {256, {1, 7}}}),
        layers_.smoothed(x, 128)});
  }

  // Figure 8.
  Tensor reduction_17_to_8(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    return net_.concat(
        std::array{layers_.branch(1, x, {{192}, halving(192)}),
                   layers_.branch(2, x, {{256}, {256, {1, 7}}, {320, {7, 1}}, halving(320)}),
                   layers_.max_pooled(x)});
  }

  // Figure 6: branches that fan out into 1x3 and 3x1 at their end.
  Tensor block_8(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    return net_.concat(
        std::array{layers_.one_by_one(x, 256), layers_.fanning_branch(1, x, {{384}}, 256),
                   layers_.fanning_branch(2, x, {{384}, {448, {3, 1}}, {512, {1, 3}}}, 256),
                   layers_.smoothed(x, 256)});
  }

  ModelBuilder net_;
  InceptionLayers layers_{net_};
  std::int64_t batch_;
};

const GraphRegistration kRegistration(
    training_model({.name = "inception-v4",
                    .summary = "image classifier with parallel branches, 299 x 299 pixels",
                    .reference = "Szegedy et al., AAAI 2017, arXiv 1602.07261",
                    .batch = 32,
                    .forward = [](const Params& params) {
                      return InceptionV4(params.get<std::int64_t>("batch")).build();
                    }}));

}  // namespace
}  // namespace emplace::inception_v4

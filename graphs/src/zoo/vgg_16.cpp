// VGG-16 (Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition,
// ICLR 2015, arXiv 1409.1556, table 1, column D), as in torchvision's vgg16. Scopes: "conv1_1" and
// so on, a pool with the convolution before it, then "fc6", "fc7", "fc8".

#include "image_layers.hpp"
#include "training_model.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace emplace::vgg_16 {
namespace {

struct Stage {
  int convolutions;
  std::int64_t filters;
};

constexpr std::array kStages{Stage{2, 64}, Stage{2, 128}, Stage{3, 256}, Stage{3, 512},
                             Stage{3, 512}};

OpGraph forward(const Params& params) {
  ModelBuilder net("vgg-16", "Simonyan and Zisserman 2014, arXiv 1409.1556");
  const auto [images, labels] = image_batch(net, params.get<std::int64_t>("batch"), 224);
  Tensor x = images;
  for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
    const auto [convolutions, filters] = kStages[stage];
    for (int i = 0; i < convolutions; ++i) {
      const auto scope = net.scope(fmt::format("conv{}_{}", stage + 1, i + 1));
      x = net.relu(net.channel_bias_add(net.conv2d(x, {.filters = filters, .kernel = {3, 3}})));
      if (i + 1 == convolutions) {
        x = net.max_pool(x, {.kernel = 2, .stride = 2});
      }
    }
  }
  for (const std::string_view name : {"fc6", "fc7"}) {
    const auto scope = net.scope(name);
    if (net.shape(x).size() > 2) {
      x = net.flatten(x);
    }
    x = net.dropout(net.relu(net.dense(x, 4096)));
  }
  {
    const auto scope = net.scope("fc8");
    net.softmax_cross_entropy(net.dense(x, kImageNetClasses), labels);
  }
  return std::move(net).finish();
}

const GraphRegistration kRegistration(
    training_model({.name = "vgg-16",
                    .summary = "image classifier of plain convolutions, 224 x 224 pixels",
                    .reference = "Simonyan and Zisserman, ICLR 2015, arXiv 1409.1556",
                    .forward = forward}));

}  // namespace
}  // namespace emplace::vgg_16

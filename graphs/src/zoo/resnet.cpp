// ResNet-50 and -152 (He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, CVPR 2016,
// arXiv 1512.03385, table 1), in the layout of torchvision: where a block halves the map, its 3x3
// convolution has the stride. Scopes are the table's layers: "conv1", "conv2_1" and so on,
// "logits".

#include "image_layers.hpp"
#include "training_model.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace emplace::resnet_model {
namespace {

// The table's bottleneck block: 1x1 down to `width`, 3x3, and 1x1 up to four times as much, added
// to the block's input.
Tensor bottleneck(ModelBuilder& net, Tensor x, std::int64_t width, std::int64_t stride) {
  const std::int64_t filters = 4 * width;
  Tensor shortcut = x;
  if (net.shape(x)[1] != filters) {
    shortcut = conv_norm(net, x, {.filters = filters, .stride = stride});
  }
  Tensor y = conv_norm_relu(net, x, {.filters = width});
  y = conv_norm_relu(net, y, {.filters = width, .kernel = {3, 3}, .stride = stride});
  y = conv_norm(net, y, {.filters = filters});
  return net.relu(net.add(y, shortcut));
}

OpGraph resnet(std::string name, std::array<int, 4> blocks, std::int64_t batch) {
  ModelBuilder net(std::move(name), "He et al. 2015, arXiv 1512.03385");
  const auto [images, labels] = image_batch(net, batch, 224);
  Tensor x = images;
  {
    const auto scope = net.scope("conv1");
    x = conv_norm_relu(net, x, {.filters = 64, .kernel = {7, 7}, .stride = 2});
    x = net.max_pool(x, {.kernel = 3, .stride = 2, .padding = Padding::kSame});
  }
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage, width *= 2) {
    for (int block = 0; block < blocks[stage]; ++block) {
      const auto scope = net.scope(fmt::format("conv{}_{}", stage + 2, block + 1));
      x = bottleneck(net, x, width, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  {
    const auto scope = net.scope("logits");
    net.softmax_cross_entropy(net.dense(net.global_avg_pool(x), kImageNetClasses), labels);
  }
  return std::move(net).finish();
}

GraphModel resnet_model(const std::string& name, std::array<int, 4> blocks, std::int64_t batch) {
  return training_model({.name = name,
                         .summary = "image classifier of residual blocks, 224 x 224 pixels",
                         .reference = "He et al., CVPR 2016, arXiv 1512.03385",
                         .batch = batch,
                         .forward = [name, blocks](const Params& params) {
                           return resnet(name, blocks, params.get<std::int64_t>("batch"));
                         }});
}

const GraphRegistration kResnet50(resnet_model("resnet-50", {3, 4, 6, 3}, 64));
const GraphRegistration kResnet152(resnet_model("resnet-152", {3, 8, 36, 3}, 32));

}  // namespace
}  // namespace emplace::resnet_model

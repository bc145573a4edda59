// U-Net (Ronneberger, Fischer, Brox: U-Net, MICCAI 2015, arXiv 1505.04597, figure 1): four times
// down and four times up, two 3 x 3 convolutions without padding at every level, and each map on
// the way down cropped and joined to the one on the way up. 572 x 572 pixels become 388 x 388
// scores.

#include "inference_model.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::unet_model {
namespace {

constexpr std::int64_t kClasses = 2;
constexpr std::int64_t kLevels = 4;

Tensor two_convolutions(ModelBuilder& net, Tensor x, std::int64_t filters) {
  for (int i = 0; i < 2; ++i) {
    x = net.relu(net.channel_bias_add(
        net.conv2d(x, {.filters = filters, .kernel = {3, 3}, .padding = Padding::kValid})));
  }
  return x;
}

OpGraph forward(const Params& params) {
  const auto get = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const auto image = get("image");
  if (image % 16 != 12) {
    fail_parameters("unet",
                    fmt::format("expected an image that is even on all levels, of 188, 204, "
                                "220 and so on pixels, found {}",
                                image));
  }
  ModelBuilder net("unet", "Ronneberger et al. 2015, arXiv 1505.04597", type_of(params));
  Tensor x;
  {
    const auto scope = net.scope("input");
    x = net.input("images", {get("batch"), get("image-channels"), image, image}, net.type());
  }
  std::vector<Tensor> maps;
  auto filters = get("filters");
  for (std::int64_t level = 0; level < kLevels; ++level, filters *= 2) {
    const auto scope = net.scope(fmt::format("down_{}", level));
    maps.push_back(two_convolutions(net, x, filters));
    x = net.max_pool(maps.back(), {.kernel = 2, .stride = 2});
  }
  {
    const auto scope = net.scope("bottom");
    x = two_convolutions(net, x, filters);
  }
  for (std::int64_t level = kLevels - 1; level >= 0; --level) {
    const auto scope = net.scope(fmt::format("up_{}", level));
    filters /= 2;
    x = net.channel_bias_add(net.conv2d_transpose(
        x, {.filters = filters, .kernel = {2, 2}, .stride = 2, .padding = Padding::kValid}));
    const Tensor cropped = net.slice(maps[static_cast<std::size_t>(level)], net.shape(x));
    x = two_convolutions(net, net.concat(std::array{cropped, x}), filters);
  }
  const auto scope = net.scope("head");
  const Tensor scores = net.channel_bias_add(net.conv2d(x, {.filters = kClasses}));
  if (params.get<bool>("training")) {
    constexpr std::array<std::size_t, 4> kClassesLast{0, 2, 3, 1};
    const Tensor pixels = net.transpose(scores, kClassesLast);
    const auto shape = net.shape(pixels);
    const auto count = shape[0] * shape[1] * shape[2];
    net.softmax_cross_entropy(net.reshape(pixels, {count, kClasses}),
                              net.input("labels", {count}, DataType::kInt32));
  }
  return std::move(net).finish();
}

const GraphRegistration kRegistration(inference_model({
    .name = "unet",
    .summary = "segments an image: down to coarse maps, up again, joined level by level",
    .reference = "Ronneberger et al., MICCAI 2015, arXiv 1505.04597",
    .batch = 4,
    .examples = "images",
    .optimizer = "momentum",
    .parameters = {whole_number("image", 572, 188, 65532, "pixels along one side of an image"),
                   whole_number("image-channels", 1, 1, 1024, "numbers of a pixel"),
                   whole_number("filters", 64, 1, 4096, "filters on the finest level"),
                   type_parameter()},
    .forward = forward,
}));

}  // namespace
}  // namespace emplace::unet_model

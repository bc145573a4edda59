// The Vision Transformer (Dosovitskiy et al.: An Image is Worth 16x16 Words, ICLR 2021, arXiv
// 2010.11929, table 1), by default ViT-B/16, in the layout of torchvision: a convolution cuts the
// image into patches, a learned class token goes before them, and the head reads what became of it.

#include "transformer_layers.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace emplace::vit_model {
namespace {

constexpr std::int64_t kClasses = 1000;

// Cuts images, [N, 3, image, image], into tokens, [N, patches + 1, width].
Tensor embed(ModelBuilder& net, Tensor images, std::int64_t patch, std::int64_t width) {
  const auto scope = net.scope("embedding");
  const Tensor map = net.channel_bias_add(net.conv2d(
      images,
      {.filters = width, .kernel = {patch, patch}, .stride = patch, .padding = Padding::kValid}));
  const auto shape = net.shape(map);
  constexpr std::array<std::size_t, 3> kTokensFirst{0, 2, 1};
  const Tensor patches =
      net.transpose(net.reshape(map, {shape[0], width, shape[2] * shape[3]}), kTokensFirst);
  const Tensor token = net.broadcast(net.variable("class_token", {1, width}), shape[0]);
  const Tensor x = net.concat(std::array{token, patches});
  return net.bias_add(x, net.variable("positions", {net.shape(x)[1], width}));
}

OpGraph forward(const Params& params) {
  const auto get = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const auto width = get("width");
  const auto image = get("image");
  const auto patch = get("patch");
  if (width % get("heads") != 0 || image % patch != 0) {
    fail_parameters("vit", fmt::format("expected heads that divide the width and a patch that "
                                       "divides the image, found {} of {} and {} of {}",
                                       get("heads"), width, patch, image));
  }
  const bool training = params.get<bool>("training");
  ModelBuilder net("vit", "Dosovitskiy et al. 2020, arXiv 2010.11929", type_of(params));
  Tensor images;
  {
    const auto scope = net.scope("input");
    images = net.input("images", {get("batch"), 3, image, image}, net.type());
  }
  Tensor x = maybe_dropout(net, embed(net, images, patch, width), training);
  const Attention attributes{
      .heads = get("heads"), .head_width = width / get("heads"), .fused = true};
  for (std::int64_t i = 0; i < get("layers"); ++i) {
    const auto scope = net.scope(fmt::format("layer_{}", i));
    x = pre_norm_layer(net, x, attributes, get("inner"), training);
  }
  const auto scope = net.scope("head");
  const Tensor scores = net.dense(one_position(net, net.layer_norm(x)), kClasses);
  if (training) {
    net.softmax_cross_entropy(scores, net.input("labels", {get("batch")}, DataType::kInt32));
  }
  return std::move(net).finish();
}

const GraphRegistration kRegistration(inference_model({
    .name = "vit",
    .summary = "image classifier: a transformer over patches, by default ViT-B/16",
    .reference = "Dosovitskiy et al., ICLR 2021, arXiv 2010.11929",
    .batch = 64,
    .examples = "images",
    .parameters = {whole_number("layers", 12, 1, 1000, "layers"),
                   whole_number("width", 768, 1, 65536, "numbers of a token"),
                   whole_number("heads", 12, 1, 1024, "heads of attention"),
                   whole_number("inner", 3072, 1, 1'000'000, "width of the feed-forward network"),
                   whole_number("image", 224, 1, 65536, "pixels along one side of an image"),
                   whole_number("patch", 16, 1, 65536, "pixels along one side of a patch"),
                   type_parameter()},
    .forward = forward,
}));

}  // namespace
}  // namespace emplace::vit_model

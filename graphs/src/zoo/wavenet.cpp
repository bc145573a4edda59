// WaveNet (van den Oord et al.: WaveNet, 2016, arXiv 1609.03499), unconditional: stacks of causal
// convolutions over time whose reach doubles from layer to layer, each gated by another one. All
// layers add to a sum that two more layers classify as one of 256 amplitudes. Sizes are by default
// those of GDP's first WaveNet (Zhou et al. 2019: 2 stacks of 18 layers together), with the
// channels of the open implementation that most reports use: 32 within the layers, 512 in the sum.
//
// A causal convolution pads before the first sample, one like it on both sides: the same work, so
// padding on both sides stands for it here. Time is the width of maps of height 1.

#include "inference_model.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace emplace::wavenet_model {
namespace {

constexpr std::int64_t kAmplitudes = 256;
constexpr std::int64_t kWindow = 2;

Tensor conv(ModelBuilder& net, Tensor x, std::int64_t filters, std::int64_t window,
            std::int64_t dilation = 1) {
  return net.channel_bias_add(
      net.conv2d(x, {.filters = filters, .kernel = {1, window}, .dilation = dilation}));
}

OpGraph forward(const Params& params) {
  const auto get = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const auto batch = get("batch");
  const auto samples = get("samples");
  const auto channels = get("channels");
  const auto skip_channels = get("skip-channels");
  ModelBuilder net("wavenet", "van den Oord et al. 2016, arXiv 1609.03499", type_of(params));
  Tensor x;
  {
    const auto scope = net.scope("input");
    x = conv(net, net.input("samples", {batch, kAmplitudes, 1, samples}, net.type()), channels,
             kWindow);
  }
  Tensor sum;
  for (std::int64_t stack = 0; stack < get("stacks"); ++stack) {
    for (std::int64_t layer = 0; layer < get("layers"); ++layer) {
      const auto outer = net.scope(fmt::format("stack_{}", stack));
      const auto scope = net.scope(fmt::format("layer_{}", layer));
      const std::int64_t dilation = std::int64_t{1} << layer;
      const Tensor filter = net.tanh(conv(net, x, channels, kWindow, dilation));
      const Tensor gate = net.sigmoid(conv(net, x, channels, kWindow, dilation));
      const Tensor gated = net.multiply(filter, gate);
      const Tensor skip = conv(net, gated, skip_channels, 1);
      sum = stack == 0 && layer == 0 ? skip : net.add(sum, skip);
      const bool last = stack + 1 == get("stacks") && layer + 1 == get("layers");
      x = last ? x : net.add(x, conv(net, gated, channels, 1));
    }
  }
  const auto scope = net.scope("head");
  const Tensor y = conv(net, net.relu(sum), skip_channels, 1);
  const Tensor scores = conv(net, net.relu(y), kAmplitudes, 1);
  if (params.get<bool>("training")) {
    constexpr std::array<std::size_t, 4> kClassesLast{0, 2, 3, 1};
    net.softmax_cross_entropy(
        net.reshape(net.transpose(scores, kClassesLast), {batch * samples, kAmplitudes}),
        net.input("labels", {batch * samples}, DataType::kInt32));
  }
  return std::move(net).finish();
}

const GraphRegistration kRegistration(inference_model({
    .name = "wavenet",
    .summary = "sound, sample by sample: stacks of gated dilated convolutions",
    .reference = "van den Oord et al. 2016, arXiv 1609.03499",
    .batch = 8,
    .examples = "clips",
    .parameters = {whole_number("stacks", 2, 1, 1000, "stacks of layers"),
                   whole_number("layers", 9, 1, 20, "layers of a stack"),
                   whole_number("channels", 32, 1, 65536, "numbers of a sample within the layers"),
                   whole_number("skip-channels", 512, 1, 65536, "numbers of a sample in the sum"),
                   whole_number("samples", 8192, 1, 10'000'000, "samples of a clip"),
                   type_parameter()},
    .forward = forward,
}));

}  // namespace
}  // namespace emplace::wavenet_model

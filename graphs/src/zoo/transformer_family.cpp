// Transformers that differ in depth, heads (and so in width), length of a sequence, batch, and in
// whether a token sees the ones after it. Ours: at least a quarter of each of the four sizes, up to
// what the parameters say; lengths and batches in sixteenths of that.

#include "transformer_layers.hpp"
#include "transforms/batch_division.hpp"

#include <emplace/graphs/graph_family.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace emplace::transformer_family {
namespace {

constexpr std::int64_t kVocabulary = 32'000;
constexpr std::int64_t kHeadWidth = 64;
constexpr std::int64_t kParts = 16;

Design draw(const Params& params, RandomStream& stream) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(high - low + 1)));
  };
  const auto count = [&](std::string_view name) {
    const auto most = params.get<std::int64_t>(name);
    return between((most + 3) / 4, most);
  };
  const auto part = [&](std::string_view name) {
    return (params.get<std::int64_t>(name) * between(kParts / 4, kParts) + kParts - 1) / kParts;
  };
  const auto layers = count("layers");
  const auto heads = count("heads");
  const auto sequence = part("sequence");
  const auto batch = part("batch");
  return {layers, heads, sequence, batch, between(0, 1)};
}

OpGraph step(const Params& params, const Design& design, std::int64_t batch) {
  const auto layers = design[0];
  const auto heads = design[1];
  const auto sequence = design[2];
  const bool training = params.get<bool>("training");
  const auto width = heads * kHeadWidth;
  ModelBuilder net("transformer-family", "Vaswani et al. 2017, arXiv 1706.03762");
  Tensor words;
  Tensor x;
  {
    const auto scope = net.scope("embedding");
    words = net.variable("words", {kVocabulary, width});
    x = net.bias_add(net.embedding(words, net.input("ids", {batch, sequence}, DataType::kInt32)),
                     net.variable("positions", {sequence, width}));
    x = maybe_dropout(net, x, training);
  }
  const Attention attributes{
      .heads = heads, .head_width = kHeadWidth, .causal = design[4] == 1, .dropout = training};
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto scope = net.scope(fmt::format("layer_{}", i));
    x = pre_norm_layer(net, x, attributes, 4 * width, training);
  }
  {
    const auto scope = net.scope("norm");
    x = net.layer_norm(x);
  }
  language_head(net, x, words, training);
  return model_step(std::move(net).finish(), params);
}

OpGraph build(const Params& params, const Design& design) {
  return divide_batch(params, design[3],
                      [&](std::int64_t examples) { return step(params, design, examples); });
}

const GraphRegistration kRegistration(family_model({
    .name = "transformer-family",
    .summary = "transformers of random depth, heads, length and batch",
    .reference = "Vaswani et al., NeurIPS 2017, arXiv 1706.03762",
    .parameters = training_parameters(
        {whole_number("layers", 12, 4, 1000, "at most so many layers"),
         whole_number("heads", 16, 4, 1024, "at most so many heads of 64 numbers"),
         whole_number("sequence", 512, 16, 1'000'000, "largest number of tokens in a sequence")},
        32, "largest number of sequences", "adam"),
    .draw = draw,
    .build = build,
}));

}  // namespace
}  // namespace emplace::transformer_family

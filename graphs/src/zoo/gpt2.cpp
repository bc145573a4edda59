// GPT-2 (Radford, Wu, Child, Luan, Amodei, Sutskever: Language Models are Unsupervised Multitask
// Learners, 2019, table 2), in the layout of the published code: normalization before each half of
// a layer, one product for queries, keys and values, and the table of words read again by the head.
// The paper's table counts parameters wrongly, as the authors' repository says; the numbers here
// are those of the published weights.

#include "transformer_layers.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace emplace::gpt2_model {
namespace {

constexpr std::int64_t kVocabulary = 50257;
constexpr std::int64_t kPositions = 1024;

struct Sizes {
  std::int64_t layers, width, heads;
};

OpGraph forward(const std::string& name, const Sizes& sizes, const Params& params) {
  const bool training = params.get<bool>("training");
  const auto sequence = params.get<std::int64_t>("sequence");
  const auto cached = params.get<std::int64_t>("cached");
  if (sequence + cached > kPositions || (training && cached > 0)) {
    fail_parameters(name, fmt::format("expected at most {} positions, and none cached in training, "
                                      "found {} and {} cached",
                                      kPositions, sequence, cached));
  }
  ModelBuilder net(name, "Radford et al. 2019", type_of(params));
  Tensor words;
  Tensor x;
  {
    const auto scope = net.scope("embedding");
    const Tensor ids =
        net.input("ids", {params.get<std::int64_t>("batch"), sequence}, DataType::kInt32);
    words = net.variable("words", {kVocabulary, sizes.width});
    const Tensor positions = net.embedding(net.variable("positions", {kPositions, sizes.width}),
                                           net.input("position_ids", {sequence}, DataType::kInt32));
    x = net.bias_add(net.embedding(words, ids), positions);
    x = maybe_dropout(net, x, training);
  }
  const Attention attributes{.heads = sizes.heads,
                             .head_width = sizes.width / sizes.heads,
                             .fused = true,
                             .causal = true,
                             .dropout = training,
                             .cached = cached};
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const auto scope = net.scope(fmt::format("layer_{}", i));
    x = pre_norm_layer(net, x, attributes, 4 * sizes.width, training);
  }
  {
    const auto scope = net.scope("norm");
    x = net.layer_norm(x);
  }
  language_head(net, x, words, training);
  return std::move(net).finish();
}

GraphModel gpt2_model(const std::string& size, const Sizes& sizes) {
  const std::string name = "gpt2-" + size;
  return inference_model(
      {.name = name,
       .summary =
           fmt::format("causal language model of {} layers of width {}", sizes.layers, sizes.width),
       .reference = "Radford et al., Language Models are Unsupervised Multitask Learners, 2019",
       .batch = 8,
       .examples = "sequences",
       .parameters = {whole_number("sequence", kPositions, 1, kPositions, "tokens of a sequence"),
                      cached_parameter(kPositions - 1), type_parameter()},
       .forward = [name, sizes](const Params& params) { return forward(name, sizes, params); }});
}

const GraphRegistration kSmall(gpt2_model("small", {.layers = 12, .width = 768, .heads = 12}));
const GraphRegistration kMedium(gpt2_model("medium", {.layers = 24, .width = 1024, .heads = 16}));
const GraphRegistration kLarge(gpt2_model("large", {.layers = 36, .width = 1280, .heads = 20}));
const GraphRegistration kXl(gpt2_model("xl", {.layers = 48, .width = 1600, .heads = 25}));

}  // namespace
}  // namespace emplace::gpt2_model

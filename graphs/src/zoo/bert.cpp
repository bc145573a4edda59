// BERT (Devlin, Chang, Lee, Toutanova: BERT, NAACL 2019, arXiv 1810.04805), uncased, in the layout
// of the published code. In training it is pre-trained: it guesses 15% of the words, which are
// gathered before they are classified, and whether the second sentence follows the first. Without
// training it is the encoder and its pooler. Sequences are full, so there is no padding to mask.

#include "transformer_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace emplace::bert_model {
namespace {

constexpr std::int64_t kVocabulary = 30522;
constexpr std::int64_t kPositions = 512;
constexpr std::int64_t kSegments = 2;

struct Sizes {
  std::int64_t layers, width, heads;
};

Tensor embed(ModelBuilder& net, const Sizes& sizes, const Params& params, Tensor words) {
  const auto sequence = params.get<std::int64_t>("sequence");
  const std::vector<std::int64_t> shape{params.get<std::int64_t>("batch"), sequence};
  Tensor x = net.embedding(words, net.input("ids", shape, DataType::kInt32));
  x = net.add(x, net.embedding(net.variable("segments", {kSegments, sizes.width}),
                               net.input("segment_ids", shape, DataType::kInt32)));
  const Tensor positions = net.embedding(net.variable("positions", {kPositions, sizes.width}),
                                         net.input("position_ids", {sequence}, DataType::kInt32));
  x = net.layer_norm(net.bias_add(x, positions));
  return maybe_dropout(net, x, params.get<bool>("training"));
}

// Guesses the words that were hidden.
Tensor word_loss(ModelBuilder& net, Tensor x, Tensor words) {
  const auto scope = net.scope("words");
  const auto shape = net.shape(x);
  const auto hidden = shape[0] * std::max<std::int64_t>(1, shape[1] * 15 / 100);
  Tensor y = net.embedding(rows(net, x), net.input("hidden", {hidden}, DataType::kInt32));
  y = net.layer_norm(net.gelu(net.dense(y, shape[2])));
  const Tensor scores =
      net.bias_add(net.matmul(y, words, {.right = true}), net.variable("bias", {kVocabulary}));
  return net.softmax_cross_entropy(scores, net.input("labels", {hidden}, DataType::kInt32));
}

OpGraph forward(const std::string& name, const Sizes& sizes, const Params& params) {
  const bool training = params.get<bool>("training");
  ModelBuilder net(name, "Devlin et al. 2018, arXiv 1810.04805", type_of(params));
  Tensor words;
  Tensor x;
  {
    const auto scope = net.scope("embedding");
    words = net.variable("words", {kVocabulary, sizes.width});
    x = embed(net, sizes, params, words);
  }
  const Attention attributes{
      .heads = sizes.heads, .head_width = sizes.width / sizes.heads, .dropout = training};
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const auto layer = net.scope(fmt::format("layer_{}", i));
    {
      const auto scope = net.scope("attention");
      const Tensor y = maybe_dropout(net, attention(net, x, x, attributes), training);
      x = net.layer_norm(net.add(x, y));
    }
    const auto scope = net.scope("feed_forward");
    const Tensor y = feed_forward(net, x, 4 * sizes.width, &ModelBuilder::gelu);
    x = net.layer_norm(net.add(x, maybe_dropout(net, y, training)));
  }
  const auto scope = net.scope("head");
  const Tensor pooled = net.tanh(net.dense(one_position(net, x), sizes.width));
  if (training) {
    const Tensor follows =
        net.input("follows", {params.get<std::int64_t>("batch")}, DataType::kInt32);
    const Tensor sentence_loss = net.softmax_cross_entropy(net.dense(pooled, 2), follows);
    net.add_losses(std::array{word_loss(net, x, words), sentence_loss});
  }
  return std::move(net).finish();
}

GraphModel bert_model(const std::string& size, const Sizes& sizes, std::int64_t batch) {
  const std::string name = "bert-" + size;
  return inference_model(
      {.name = name,
       .summary =
           fmt::format("bidirectional encoder of {} layers of width {}", sizes.layers, sizes.width),
       .reference = "Devlin et al., NAACL 2019, arXiv 1810.04805",
       .batch = batch,
       .examples = "pairs of sentences",
       .parameters = {whole_number("sequence", 384, 1, kPositions, "words of a pair of sentences"),
                      type_parameter()},
       .forward = [name, sizes](const Params& params) { return forward(name, sizes, params); }});
}

const GraphRegistration kBase(bert_model("base", {.layers = 12, .width = 768, .heads = 12}, 24));
const GraphRegistration kLarge(bert_model("large", {.layers = 24, .width = 1024, .heads = 16}, 24));

}  // namespace
}  // namespace emplace::bert_model

// T5 (Raffel et al.: Exploring the Limits of Transfer Learning with a Unified Text-to-Text
// Transformer, JMLR 2020, arXiv 1910.10683), version 1.0, by default of the size `base`: an encoder
// and a decoder without biases, one table of words for both and for the head, and distances between
// positions sorted into buckets that the first layer of each side learns and all of its layers add
// to their scores.

#include "transformer_layers.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace emplace::t5_model {
namespace {

constexpr std::int64_t kVocabulary = 32128;
constexpr std::int64_t kBuckets = 32;

struct Sizes {
  std::int64_t layers, width, heads, head_width, inner;
};

class T5 {
 public:
  T5(ModelBuilder& net, const Sizes& sizes, std::int64_t batch, bool training)
      : net_(net), sizes_(sizes), batch_(batch), training_(training) {
    const auto scope = net.scope("embedding");
    words_ = net.variable("words", {kVocabulary, sizes.width});
  }

  Tensor encode(std::int64_t sequence) {
    const auto scope = net_.scope("encoder");
    Tensor x = embed(sequence);
    for (std::int64_t i = 0; i < sizes_.layers; ++i) {
      const auto layer = net_.scope(fmt::format("layer_{}", i));
      x = attend_to_itself(x, Direction::kBoth, i == 0);
      x = feed_forward_half(x);
    }
    return finish(x);
  }

  Tensor decode(std::int64_t target, Tensor encoded) {
    const auto scope = net_.scope("decoder");
    Tensor x = embed(target);
    for (std::int64_t i = 0; i < sizes_.layers; ++i) {
      const auto layer = net_.scope(fmt::format("layer_{}", i));
      x = attend_to_itself(x, Direction::kBack, i == 0);
      {
        const auto half = net_.scope("cross_attention");
        x = add(x, attention(net_, net_.rms_norm(x), encoded, attributes()));
      }
      x = feed_forward_half(x);
    }
    return finish(x);
  }

  void classify(Tensor x) { language_head(net_, net_.scale(x), words_, training_); }

 private:
  enum class Direction : std::uint8_t { kBoth, kBack };

  Attention attributes() const {
    return {.heads = sizes_.heads,
            .head_width = sizes_.head_width,
            .bias = Bias::kNone,
            .scaled = false,
            .dropout = training_};
  }

  Tensor add(Tensor x, Tensor y) { return net_.add(x, maybe_dropout(net_, y, training_)); }

  Tensor embed(std::int64_t positions) {
    const auto scope = net_.scope("embedding");
    const Tensor ids = net_.input("ids", {batch_, positions}, DataType::kInt32);
    return maybe_dropout(net_, net_.embedding(words_, ids), training_);
  }

  // What is added to the scores: [heads, positions, positions].
  Tensor distances(std::int64_t positions) {
    const Tensor buckets = net_.input("buckets", {positions, positions}, DataType::kInt32);
    const Tensor table = net_.variable("distances", {kBuckets, sizes_.heads});
    constexpr std::array<std::size_t, 3> kHeadsFirst{2, 0, 1};
    return net_.transpose(net_.embedding(table, buckets), kHeadsFirst);
  }

  Tensor attend_to_itself(Tensor x, Direction direction, bool first) {
    const auto scope = net_.scope("attention");
    if (first) {
      distances_ = distances(net_.shape(x)[1]);
    }
    Attention own = attributes();
    own.causal = direction == Direction::kBack;
    own.added = distances_;
    const Tensor y = net_.rms_norm(x);
    return add(x, attention(net_, y, y, own));
  }

  Tensor feed_forward_half(Tensor x) {
    const auto scope = net_.scope("feed_forward");
    const Tensor inner = net_.relu(net_.dense(net_.rms_norm(x), sizes_.inner, Bias::kNone));
    return add(x, net_.dense(maybe_dropout(net_, inner, training_), sizes_.width, Bias::kNone));
  }

  Tensor finish(Tensor x) {
    const auto scope = net_.scope("norm");
    return maybe_dropout(net_, net_.rms_norm(x), training_);
  }

  ModelBuilder& net_;
  Sizes sizes_;
  std::int64_t batch_;
  bool training_;
  Tensor words_;
  Tensor distances_;  // of the side that is being built
};

OpGraph forward(const Params& params) {
  const auto get = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  ModelBuilder net("t5", "Raffel et al. 2019, arXiv 1910.10683", type_of(params));
  T5 model(net,
           {.layers = get("layers"),
            .width = get("width"),
            .heads = get("heads"),
            .head_width = get("head-width"),
            .inner = get("inner")},
           get("batch"), params.get<bool>("training"));
  model.classify(model.decode(get("target"), model.encode(get("sequence"))));
  return std::move(net).finish();
}

const GraphRegistration kRegistration(inference_model({
    .name = "t5",
    .summary = "encoder and decoder with learned distances, by default of the size base",
    .reference = "Raffel et al., JMLR 2020, arXiv 1910.10683",
    .batch = 8,
    .examples = "pairs of texts",
    .parameters = {whole_number("layers", 12, 1, 1000, "layers of the encoder and of the decoder"),
                   whole_number("width", 768, 1, 65536, "numbers of a token"),
                   whole_number("heads", 12, 1, 1024, "heads of attention"),
                   whole_number("head-width", 64, 1, 65536, "numbers of a head"),
                   whole_number("inner", 3072, 1, 1'000'000, "width of the feed-forward network"),
                   whole_number("sequence", 512, 1, 1'000'000, "tokens that the encoder reads"),
                   whole_number("target", 114, 1, 1'000'000, "tokens that the decoder reads"),
                   type_parameter()},
    .forward = forward,
}));

}  // namespace
}  // namespace emplace::t5_model

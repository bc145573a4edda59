// A causal language model in which the feed-forward network of every other layer is a mixture of
// experts (Lepikhin et al.: GShard, ICLR 2021, arXiv 2006.16668; Fedus, Zoph, Shazeer: Switch
// Transformers, JMLR 2022, arXiv 2101.03961). A router sends each token to the `top-k` most
// probable of its experts (2 in GShard, 1 in Switch); an expert takes as many as would come if all
// were equally busy, times `capacity`. Sizes are by default those of Switch-Base's decoder, with 8
// experts. Experts stand in scopes of their own, "layer_1/expert_0" and so on.

#include "transformer_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::moe_transformer {
namespace {

constexpr std::int64_t kVocabulary = 32128;

struct Experts {
  std::int64_t count, chosen, inner;
  double capacity;
};

// Sends rows to experts; adds the loss that keeps them equally busy.
Tensor mixture(ModelBuilder& net, Tensor x, const Experts& experts, std::vector<Tensor>& losses) {
  const auto tokens = net.shape(x)[0];
  const auto share =
      static_cast<double>(experts.chosen * tokens) / static_cast<double>(experts.count);
  const auto capacity =
      std::clamp<std::int64_t>(std::llround(std::ceil(experts.capacity * share)), 1, tokens);
  Routing routing;
  std::vector<Tensor> parts;
  {
    const auto scope = net.scope("router");
    const Tensor probabilities = net.softmax(net.dense(x, experts.count, Bias::kNone));
    routing = net.top_k(probabilities, experts.chosen);
    parts = net.dispatch(x, routing, experts.count, capacity);
    losses.push_back(net.balance_loss(probabilities, routing));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto scope = net.scope(fmt::format("expert_{}", i));
    parts[i] = feed_forward(net, parts[i], experts.inner, &ModelBuilder::relu, Bias::kNone);
  }
  const auto scope = net.scope("router");
  return net.combine(parts, routing);
}

OpGraph forward(const Params& params) {
  const auto get = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const bool training = params.get<bool>("training");
  const auto width = get("width");
  const Experts experts{.count = get("experts"),
                        .chosen = get("top-k"),
                        .inner = get("inner"),
                        .capacity = params.get<double>("capacity")};
  if (experts.chosen > experts.count) {
    fail_parameters("moe-transformer", fmt::format("expected top-k of at most {} experts, found {}",
                                                   experts.count, experts.chosen));
  }
  ModelBuilder net("moe-transformer", "Fedus et al. 2021, arXiv 2101.03961", type_of(params));
  Tensor words;
  Tensor x;
  {
    const auto scope = net.scope("embedding");
    words = net.variable("words", {kVocabulary, width});
    x = net.embedding(words, net.input("ids", {get("batch"), get("sequence")}, DataType::kInt32));
    x = maybe_dropout(net, x, training);
  }
  const Attention attributes{.heads = get("heads"),
                             .head_width = get("head-width"),
                             .bias = Bias::kNone,
                             .causal = true,
                             .rotary = true,
                             .dropout = training};
  std::vector<Tensor> losses;
  for (std::int64_t i = 0; i < get("layers"); ++i) {
    const auto layer = net.scope(fmt::format("layer_{}", i));
    {
      const auto scope = net.scope("attention");
      const Tensor y = net.rms_norm(x);
      x = net.add(x, maybe_dropout(net, attention(net, y, y, attributes), training));
    }
    const auto scope = net.scope(i % 2 == 1 ? "mixture" : "feed_forward");
    Tensor y = net.rms_norm(x);
    if (i % 2 == 1) {
      y = net.reshape(mixture(net, rows(net, y), experts, losses), net.shape(x));
    } else {
      y = feed_forward(net, y, experts.inner, &ModelBuilder::relu, Bias::kNone);
    }
    x = net.add(x, maybe_dropout(net, y, training));
  }
  {
    const auto scope = net.scope("norm");
    x = net.rms_norm(x);
  }
  if (const auto loss = language_head(net, x, words, training)) {
    losses.insert(losses.begin(), *loss);
    net.add_losses(losses);
  }
  return std::move(net).finish();
}

const GraphRegistration kRegistration(inference_model({
    .name = "moe-transformer",
    .summary = "causal language model with a mixture of experts in every other layer",
    .reference =
        "Fedus et al., JMLR 2022, arXiv 2101.03961; Lepikhin et al. 2020, arXiv 2006.16668",
    .batch = 8,
    .examples = "sequences",
    .parameters = {whole_number("layers", 12, 2, 1000, "layers"),
                   whole_number("width", 768, 1, 65536, "numbers of a token"),
                   whole_number("heads", 12, 1, 1024, "heads of attention"),
                   whole_number("head-width", 64, 2, 65536, "numbers of a head, even"),
                   whole_number("inner", 3072, 1, 1'000'000, "width of an expert"),
                   whole_number("experts", 8, 1, 4096, "experts of a layer"),
                   whole_number("top-k", 2, 1, 64, "experts of a token"),
                   {.name = "capacity",
                    .default_value = 1.25,
                    .min = 0.1,
                    .max = 100,
                    .summary = "tokens that an expert takes, over its share of them"},
                   whole_number("sequence", 512, 1, 1'000'000, "tokens of a sequence"),
                   type_parameter()},
    .forward = forward,
}));

}  // namespace
}  // namespace emplace::moe_transformer

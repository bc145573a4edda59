// LLaMA (Touvron et al.: LLaMA, 2023, arXiv 2302.13971, table 2): division by the root mean square
// before each half of a layer, rotary positions, a gated feed-forward network, no bias anywhere, no
// dropout. `llama-block` is one layer by itself; in training, it learns to do what a teacher's
// layer does, as where a model is compressed layer by layer.

#include "transformer_layers.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::llama_model {
namespace {

constexpr std::int64_t kVocabulary = 32000;
constexpr std::int64_t kMaxSequence = 1'000'000;

struct Sizes {
  std::int64_t layers, width, heads, inner;
};

struct Step {
  bool training;
  std::int64_t batch, sequence, cached;
};

Step step_of(std::string_view name, const Params& params) {
  const Step step{.training = params.get<bool>("training"),
                  .batch = params.get<std::int64_t>("batch"),
                  .sequence = params.get<std::int64_t>("sequence"),
                  .cached = params.get<std::int64_t>("cached")};
  if (step.training && step.cached > 0) {
    fail_parameters(name, "expected no cache in training");
  }
  return step;
}

Tensor layer(ModelBuilder& net, Tensor x, const Sizes& sizes, std::int64_t cached) {
  {
    const auto scope = net.scope("attention");
    const Tensor y = net.rms_norm(x);
    x = net.add(x, attention(net, y, y,
                             {.heads = sizes.heads,
                              .head_width = sizes.width / sizes.heads,
                              .bias = Bias::kNone,
                              .causal = true,
                              .rotary = true,
                              .cached = cached}));
  }
  const auto scope = net.scope("feed_forward");
  const Tensor y = net.rms_norm(x);
  const Tensor gate = net.silu(net.dense(y, sizes.inner, Bias::kNone));
  const Tensor inner = net.multiply(gate, net.dense(y, sizes.inner, Bias::kNone));
  return net.add(x, net.dense(inner, sizes.width, Bias::kNone));
}

OpGraph model(const std::string& name, const Sizes& sizes, const Params& params) {
  const Step step = step_of(name, params);
  ModelBuilder net(name, "Touvron et al. 2023, arXiv 2302.13971", type_of(params));
  Tensor x;
  {
    const auto scope = net.scope("embedding");
    x = net.embedding(net.variable("words", {kVocabulary, sizes.width}),
                      net.input("ids", {step.batch, step.sequence}, DataType::kInt32));
  }
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const auto scope = net.scope(fmt::format("layer_{}", i));
    x = layer(net, x, sizes, step.cached);
  }
  Tensor words;
  {
    const auto scope = net.scope("head");
    x = net.rms_norm(x);
    words = net.variable("words", {kVocabulary, sizes.width});
  }
  language_head(net, x, words, step.training);
  return std::move(net).finish();
}

OpGraph block(const Params& params) {
  const Step step = step_of("llama-block", params);
  const Sizes sizes{
      .layers = 1,
      .width = params.get<std::int64_t>("heads") * params.get<std::int64_t>("head-width"),
      .heads = params.get<std::int64_t>("heads"),
      .inner = params.get<std::int64_t>("inner")};
  const DataType type = type_of(params);
  ModelBuilder net("llama-block", "Touvron et al. 2023, arXiv 2302.13971", type);
  const std::vector<std::int64_t> shape{step.batch, step.sequence, sizes.width};
  Tensor x = net.input("x", shape, type);
  {
    const auto scope = net.scope("layer_0");
    x = layer(net, x, sizes, step.cached);
  }
  if (step.training) {
    const auto scope = net.scope("head");
    net.mean_squared_error(x, net.input("target", shape, type));
  }
  return std::move(net).finish();
}

std::vector<ParamSpec> parameters(std::vector<ParamSpec> own) {
  own.insert(own.begin(), whole_number("sequence", 2048, 1, kMaxSequence, "tokens of a sequence"));
  own.push_back(cached_parameter(kMaxSequence));
  own.push_back(type_parameter());
  return own;
}

GraphModel llama_model(const std::string& size, const Sizes& sizes) {
  const std::string name = "llama-" + size;
  return inference_model(
      {.name = name,
       .summary =
           fmt::format("causal language model of {} layers of width {}", sizes.layers, sizes.width),
       .reference = "Touvron et al. 2023, arXiv 2302.13971",
       .batch = 1,
       .examples = "sequences",
       .parameters = parameters({}),
       .forward = [name, sizes](const Params& params) { return model(name, sizes, params); }});
}

const GraphRegistration kBlock(inference_model({
    .name = "llama-block",
    .summary = "one layer of a causal language model, of the size of llama-7b's",
    .reference = "Touvron et al. 2023, arXiv 2302.13971",
    .batch = 1,
    .examples = "sequences",
    .parameters = parameters({whole_number("heads", 32, 1, 1024, "heads of attention"),
                              whole_number("head-width", 128, 2, 65536, "numbers of a head, even"),
                              whole_number("inner", 11008, 1, 1'000'000,
                                           "width of the feed-forward network")}),
    .forward = block,
}));
const GraphRegistration k7b(
    llama_model("7b", {.layers = 32, .width = 4096, .heads = 32, .inner = 11008}));
const GraphRegistration k13b(
    llama_model("13b", {.layers = 40, .width = 5120, .heads = 40, .inner = 13824}));

}  // namespace
}  // namespace emplace::llama_model

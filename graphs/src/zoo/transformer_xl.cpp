// Transformer-XL (Dai et al., ACL 2019, arXiv 1901.02860), by default the 12-layer model of its
// table 2 for characters (enwik8). A segment attends to itself and to what the layers below made of
// the segment before, which enters as an input of each layer. A score is the sum of one by content
// and one by distance; distances are embedded by sines and projected in every layer, and two
// learned vectors that all layers share stand in for the query (section 3.3).

#include "transformer_layers.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::transformer_xl {
namespace {

struct Sizes {
  std::int64_t batch, sequence, memory, width, heads, head_width, inner;
};

class TransformerXl {
 public:
  TransformerXl(ModelBuilder& net, const Sizes& sizes, bool training)
      : net_(net), sizes_(sizes), training_(training) {
    const auto scope = net.scope("embedding");
    const std::vector<std::int64_t> vectors{sizes.heads, sizes.head_width};
    by_content_ = net.variable("content", vectors);
    by_distance_ = net.variable("distance", vectors);
    distances_ = net.input("distances", {sizes.sequence + sizes.memory, sizes.width}, net.type());
    distances_ = maybe_dropout(net, distances_, training);
  }

  Tensor layer(Tensor x) {
    {
      const auto scope = net_.scope("attention");
      x = net_.layer_norm(net_.add(x, maybe_dropout(net_, attend(x), training_)));
    }
    const auto scope = net_.scope("feed_forward");
    const Tensor inner = net_.relu(net_.dense(x, sizes_.inner));
    const Tensor y = net_.dense(maybe_dropout(net_, inner, training_), sizes_.width);
    return net_.layer_norm(net_.add(x, maybe_dropout(net_, y, training_)));
  }

 private:
  // [N, positions, heads * width] -> [heads, N, positions, width]: heads first, since all sequences
  // share the distances.
  Tensor heads_first(Tensor x) {
    constexpr std::array<std::size_t, 4> kAxes{2, 0, 1, 3};
    return net_.transpose(x, kAxes);
  }

  Tensor project(Tensor x) { return net_.dense(x, sizes_.heads * sizes_.head_width, Bias::kNone); }

  // The heads of [N, positions, heads * width] as a dimension of their own.
  Tensor with_heads(Tensor x) {
    const auto shape = net_.shape(x);
    return net_.reshape(x, {shape[0], shape[1], sizes_.heads, sizes_.head_width});
  }

  // Scores by distance: [heads, N, queries, keys].
  Tensor scores_by_distance(Tensor queries) {
    const auto& [batch, sequence, memory, width, heads, head_width, inner] = sizes_;
    const auto keys = sequence + memory;
    constexpr std::array<std::size_t, 3> kHeadsFirst{1, 0, 2};
    const Tensor projected =
        net_.transpose(net_.reshape(project(distances_), {keys, heads, head_width}), kHeadsFirst);
    const Tensor flat = net_.reshape(heads_first(net_.bias_add(queries, by_distance_)),
                                     {heads, batch * sequence, head_width});
    const Tensor scores = net_.batch_matmul(flat, projected, {.right = true});
    return net_.relative_shift(net_.reshape(scores, {heads, batch, sequence, keys}));
  }

  Tensor attend(Tensor x) {
    const auto& [batch, sequence, memory, width, heads, head_width, inner] = sizes_;
    Tensor seen = x;
    if (memory > 0) {
      const Tensor before = net_.input("memory", {batch, memory, width}, net_.type());
      seen = net_.concat(std::array{before, x});
    }
    const Tensor queries = with_heads(project(x));
    const Tensor keys = heads_first(with_heads(project(seen)));
    const Tensor values = heads_first(with_heads(project(seen)));
    const Tensor scores_by_content =
        net_.batch_matmul(heads_first(net_.bias_add(queries, by_content_)), keys, {.right = true});
    const Tensor scores = net_.add(scores_by_content, scores_by_distance(queries));
    const Tensor probabilities = net_.softmax(net_.causal_mask(net_.scale(scores)));
    const Tensor y = net_.batch_matmul(maybe_dropout(net_, probabilities, training_), values);
    constexpr std::array<std::size_t, 4> kPositionsFirst{1, 2, 0, 3};
    return net_.dense(
        net_.reshape(net_.transpose(y, kPositionsFirst), {batch, sequence, heads * head_width}),
        width, Bias::kNone);
  }

  ModelBuilder& net_;
  Sizes sizes_;
  bool training_;
  Tensor by_content_;
  Tensor by_distance_;
  Tensor distances_;
};

OpGraph forward(const Params& params) {
  const auto get = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const bool training = params.get<bool>("training");
  const Sizes sizes{.batch = get("batch"),
                    .sequence = get("sequence"),
                    .memory = get("memory"),
                    .width = get("width"),
                    .heads = get("heads"),
                    .head_width = get("head-width"),
                    .inner = get("inner")};
  ModelBuilder net("transformer-xl", "Dai et al. 2019, arXiv 1901.02860", type_of(params));
  Tensor words;
  Tensor x;
  {
    const auto scope = net.scope("embedding");
    words = net.variable("words", {get("vocabulary"), sizes.width});
    x = net.embedding(words, net.input("ids", {sizes.batch, sizes.sequence}, DataType::kInt32));
    x = maybe_dropout(net, net.scale(x), training);
  }
  TransformerXl model(net, sizes, training);
  for (std::int64_t i = 0; i < get("layers"); ++i) {
    const auto scope = net.scope(fmt::format("layer_{}", i));
    x = model.layer(x);
  }
  x = maybe_dropout(net, x, training);
  const auto scope = net.scope("head");
  const Tensor last = training ? rows(net, x) : one_position(net, x);
  const Tensor scores = net.bias_add(net.matmul(last, words, {.right = true}),
                                     net.variable("bias", {get("vocabulary")}));
  if (training) {
    net.softmax_cross_entropy(
        scores, net.input("labels", {sizes.batch * sizes.sequence}, DataType::kInt32));
  }
  return std::move(net).finish();
}

const GraphRegistration kRegistration(inference_model({
    .name = "transformer-xl",
    .summary = "causal language model that attends to the segment before, too",
    .reference = "Dai et al., ACL 2019, arXiv 1901.02860",
    .batch = 22,
    .examples = "segments",
    .parameters = {whole_number("layers", 12, 1, 1000, "layers"),
                   whole_number("width", 512, 1, 65536, "numbers of a token"),
                   whole_number("heads", 8, 1, 1024, "heads of attention"),
                   whole_number("head-width", 64, 1, 65536, "numbers of a head"),
                   whole_number("inner", 2048, 1, 1'000'000, "width of the feed-forward network"),
                   whole_number("vocabulary", 204, 1, 10'000'000, "characters or words"),
                   whole_number("sequence", 512, 1, 1'000'000, "tokens of a segment"),
                   whole_number("memory", 512, 0, 1'000'000, "tokens before the segment"),
                   type_parameter()},
    .forward = forward,
}));

}  // namespace
}  // namespace emplace::transformer_xl

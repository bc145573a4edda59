#include "transformer_layers.hpp"

#include <array>
#include <utility>

namespace emplace {

ParamSpec cached_parameter(std::int64_t max) {
  return whole_number("cached", 0, 0, max,
                      "without training: earlier tokens whose keys and values are in a cache");
}

Tensor split_heads(ModelBuilder& net, Tensor x, std::int64_t heads) {
  const auto shape = net.shape(x);
  constexpr std::array<std::size_t, 4> kHeadsFirst{0, 2, 1, 3};
  return net.transpose(net.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), kHeadsFirst);
}

Tensor merge_heads(ModelBuilder& net, Tensor x) {
  constexpr std::array<std::size_t, 4> kPositionsFirst{0, 2, 1, 3};
  const Tensor y = net.transpose(x, kPositionsFirst);
  const auto shape = net.shape(y);
  return net.reshape(y, {shape[0], shape[1], shape[2] * shape[3]});
}

Tensor maybe_dropout(ModelBuilder& net, Tensor x, bool applies) {
  return applies ? net.dropout(x) : x;
}

Tensor attention(ModelBuilder& net, Tensor x, Tensor memory, const Attention& attributes) {
  const auto& [heads, head_width, bias, fused, scaled, causal, rotary, dropout, cached, added] =
      attributes;
  const auto width = net.shape(x)[2];
  const auto inner = heads * head_width;
  Tensor queries;
  Tensor keys;
  Tensor values;
  if (fused) {
    const auto parts = net.split(net.dense(x, 3 * inner, bias), 3, 2);
    queries = parts[0];
    keys = parts[1];
    values = parts[2];
  } else {
    queries = net.dense(x, inner, bias);
    keys = net.dense(memory, inner, bias);
    values = net.dense(memory, inner, bias);
  }
  queries = split_heads(net, queries, heads);
  keys = split_heads(net, keys, heads);
  values = split_heads(net, values, heads);
  if (rotary) {
    queries = net.rotary_embedding(queries);
    keys = net.rotary_embedding(keys);
  }
  if (cached > 0) {
    auto before = net.shape(keys);
    before[2] = cached;
    const DataType type = net.type();
    keys = net.concat(std::array{net.input("cached_keys", before, type), keys}, 2);
    values = net.concat(std::array{net.input("cached_values", before, type), values}, 2);
  }
  Tensor scores = net.batch_matmul(queries, keys, {.right = true});
  if (scaled) {
    scores = net.scale(scores);
  }
  if (added) {
    scores = net.bias_add(scores, *added);
  }
  if (causal) {
    scores = net.causal_mask(scores);
  }
  const Tensor probabilities = maybe_dropout(net, net.softmax(scores), dropout);
  return net.dense(merge_heads(net, net.batch_matmul(probabilities, values)), width, bias);
}

Tensor feed_forward(ModelBuilder& net, Tensor x, std::int64_t inner,
                    Tensor (ModelBuilder::*activation)(Tensor), Bias bias) {
  const auto width = net.shape(x).back();
  return net.dense((net.*activation)(net.dense(x, inner, bias)), width, bias);
}

Tensor pre_norm_layer(ModelBuilder& net, Tensor x, const Attention& attributes, std::int64_t inner,
                      bool dropout) {
  {
    const auto scope = net.scope("attention");
    const Tensor y = net.layer_norm(x);
    x = net.add(x, maybe_dropout(net, attention(net, y, y, attributes), dropout));
  }
  const auto scope = net.scope("feed_forward");
  const Tensor y = feed_forward(net, net.layer_norm(x), inner, &ModelBuilder::gelu);
  return net.add(x, maybe_dropout(net, y, dropout));
}

Tensor rows(ModelBuilder& net, Tensor x) {
  const auto shape = net.shape(x);
  return net.reshape(x, {shape[0] * shape[1], shape[2]});
}

Tensor one_position(ModelBuilder& net, Tensor x) {
  const auto shape = net.shape(x);
  return net.reshape(net.slice(x, {shape[0], 1, shape[2]}), {shape[0], shape[2]});
}

std::optional<Tensor> language_head(ModelBuilder& net, Tensor x, Tensor table, bool training) {
  const auto scope = net.scope("head");
  if (!training) {
    net.matmul(one_position(net, x), table, {.right = true});
    return std::nullopt;
  }
  const Tensor words = rows(net, x);
  const Tensor labels = net.input("labels", {net.shape(words)[0]}, DataType::kInt32);
  return net.softmax_cross_entropy(net.matmul(words, table, {.right = true}), labels);
}

}  // namespace emplace

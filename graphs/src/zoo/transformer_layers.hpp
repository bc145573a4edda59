#pragma once

// What the transformers of this folder share. Attention is built of the ops that frameworks without
// fused kernels run (Vaswani et al. 2017, section 3.2): two batched products around a softmax, all
// heads in one op. A layer stands in the scope "layer_<i>", its halves in "attention" and
// "feed_forward", so a person can cut a model between layers.
//
// Without training, a causal model reads `sequence` tokens after `cached` ones whose keys and
// values it has kept, and says what comes after the last; with `sequence=1` that is a step of
// generation.

#include "inference_model.hpp"

#include <emplace/base/params.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <cstdint>
#include <optional>

namespace emplace {

/// Returns the parameter `cached`: tokens whose keys and values are in a cache.
ParamSpec cached_parameter(std::int64_t max);

/// Holds the attributes of multi-head attention.
struct Attention {
  std::int64_t heads = 1;
  std::int64_t head_width = 64;
  Bias bias = Bias::kLearned;        ///< of the four projections
  bool fused = false;                ///< one product makes queries, keys and values, all of x
  bool scaled = true;                ///< scores are divided by the root of the head's width
  bool causal = false;               ///< no query sees a later key
  bool rotary = false;               ///< queries and keys are turned by their position
  bool dropout = false;              ///< of the probabilities
  std::int64_t cached = 0;           ///< earlier tokens in a cache of keys and values
  std::optional<Tensor> added = {};  ///< to the scores: [heads, queries, keys]
};

/// Lets x, [N, queries, width], attend to memory, [N, keys, width]: [N, queries, width].
Tensor attention(ModelBuilder& net, Tensor x, Tensor memory, const Attention& attributes);

/// Moves the heads out of rows: [N, positions, heads * width] -> [N, heads, positions, width].
Tensor split_heads(ModelBuilder& net, Tensor x, std::int64_t heads);

/// Moves the heads back into rows.
Tensor merge_heads(ModelBuilder& net, Tensor x);

/// Applies dropout if `applies`.
Tensor maybe_dropout(ModelBuilder& net, Tensor x, bool applies);

/// Projects to `inner` numbers, applies `activation`, and projects back.
Tensor feed_forward(ModelBuilder& net, Tensor x, std::int64_t inner,
                    Tensor (ModelBuilder::*activation)(Tensor), Bias bias = Bias::kLearned);

/// Adds to x what attention and then what a feed-forward network with gelu make of it, each after a
/// normalization, as GPT-2 and the Vision Transformer do; with dropout of both if `dropout`.
Tensor pre_norm_layer(ModelBuilder& net, Tensor x, const Attention& attributes, std::int64_t inner,
                      bool dropout);

/// Flattens [N, positions, width] to rows [N * positions, width].
Tensor rows(ModelBuilder& net, Tensor x);

/// Takes one position of [N, positions, width]: [N, width].
Tensor one_position(ModelBuilder& net, Tensor x);

/// Classifies in scope "head" what a causal model says of each position as words of `table`,
/// [vocabulary, width]: the loss over all positions in training, else the scores after the last
/// position. Returns the loss, if there is one.
std::optional<Tensor> language_head(ModelBuilder& net, Tensor x, Tensor table, bool training);

}  // namespace emplace

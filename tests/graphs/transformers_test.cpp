// The transformers against published parameter counts and closed forms of their multiply-adds.

#include "support/errors.hpp"

#include <emplace/graphs/catalog.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <set>
#include <string>
#include <vector>

namespace emplace::transformers_test {
namespace {

using test::count_kinds;
using test::scopes_of;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::int64_t parameters(const std::string& spec) { return totals(load_graph(spec)).parameters; }

// Multiply-adds of the products of one phase.
std::int64_t multiply_adds(const OpGraph& graph, Phase phase = Phase::kForward) {
  static const std::set<std::string> kProducts = {"batch_matmul", "conv2d", "matmul",
                                                  "conv2d_backward_filter"};
  std::int64_t flops = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    if (graph[op].phase == phase && kProducts.contains(graph[op].kind)) {
      flops += graph[op].flops;
    }
  }
  return flops / 2;
}

// Of one layer of width d: projections 4 d^2 and feed-forward network 2 d f for each of s tokens,
// and scores and values, s k d each, where s queries see k keys.
std::int64_t layer_multiply_adds(std::int64_t d, std::int64_t f, std::int64_t s, std::int64_t k) {
  return s * (4 * d * d + 2 * d * f) + 2 * s * k * d;
}

TEST(Gpt2, HasTheParametersOfThePublishedWeights) {
  // As loaded by transformers and KerasHub; the head reads the table of words.
  EXPECT_EQ(parameters("gpt2-small"), 124'439'808);
  EXPECT_EQ(parameters("gpt2-medium"), 354'823'168);
  EXPECT_EQ(parameters("gpt2-large"), 774'030'080);
  EXPECT_EQ(parameters("gpt2-xl"), 1'557'611'200);
  // Of which: words, positions, 12 layers of 12 d^2 + 13 d, and the last normalization.
  EXPECT_EQ(parameters("gpt2-small:training=false"),
            50257 * 768 + 1024 * 768 + 12 * (12 * 768 * 768 + 13 * 768) + 2 * 768);
}

TEST(Gpt2, MultipliesAsTheClosedFormSays) {
  constexpr std::int64_t kHead = 768 * 50257;
  EXPECT_EQ(multiply_adds(load_graph("gpt2-small:batch=2,sequence=100")),
            2 * (12 * layer_multiply_adds(768, 3072, 100, 100) + 100 * kHead));
  // Without training, only what follows the last token is asked for.
  EXPECT_EQ(multiply_adds(load_graph("gpt2-small:training=false,batch=2,sequence=100")),
            2 * (12 * layer_multiply_adds(768, 3072, 100, 100) + kHead));
  // A step of generation: one token, which sees 1023 keys in the cache and its own.
  EXPECT_EQ(multiply_adds(load_graph("gpt2-small:training=false,batch=2,sequence=1,cached=1023")),
            2 * (12 * layer_multiply_adds(768, 3072, 1, 1024) + kHead));
}

TEST(Gpt2, ACacheHoldsKeysAndValuesOfEveryLayer) {
  const OpGraph graph = load_graph("gpt2-small:training=false,batch=2,sequence=1,cached=1000");
  std::int64_t bytes = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    if (graph[op].kind == "input" && graph[op].name.find("cached") != std::string::npos) {
      bytes += graph[op].outputs[0].bytes;
    }
  }
  EXPECT_EQ(bytes, 4LL * 2 * 12 * 2 * 1000 * 768);
}

TEST(Gpt2, MorePositionsThanItHasLearnedAreRefusedAndSoIsACacheInTraining) {
  for (const char* spec : {"gpt2-small:training=false,sequence=1000,cached=100", "gpt2-xl:cached=1",
                           "llama-7b:cached=1", "llama-block:cached=1"}) {
    EXPECT_THAT(test::error_of(ErrorCode::kUsage, [&] { load_graph(spec); }), HasSubstr("cache"))
        << spec;
  }
}

TEST(Gpt2, AttentionIsBuiltOfProductsAroundASoftmaxAllHeadsInOne) {
  auto counts = count_kinds(load_graph("gpt2-small:training=false"));
  EXPECT_EQ(counts["batch_matmul"], 12 * 2);
  EXPECT_EQ(counts["softmax"], 12);
  EXPECT_EQ(counts["causal_mask"], 12);
  EXPECT_EQ(counts["matmul"], 12 * 4 + 1);  // one makes queries, keys and values
  EXPECT_EQ(counts["layer_norm"], 25);
  EXPECT_EQ(counts["dropout"], 0);
  counts = count_kinds(load_graph("gpt2-small"));
  EXPECT_EQ(counts["dropout"], 1 + 12 * 3);  // embedding; probabilities, both halves of a layer
}

TEST(Bert, HasTheParametersOfThePublishedWeights) {
  // Without training the encoder with pooler, as KerasHub and transformers' BertModel count it;
  // with training the two heads of pre-training, too, as in the published bert-base-uncased.
  EXPECT_EQ(parameters("bert-base:training=false"), 109'482'240);
  EXPECT_EQ(parameters("bert-large:training=false"), 335'141'888);
  EXPECT_EQ(parameters("bert-base"), 110'106'428);
  // The words' head: dense, normalization, a bias for each word; the sentences': two classes.
  constexpr std::int64_t d = 1024;
  EXPECT_EQ(parameters("bert-large"), 335'141'888 + d * d + d + 2 * d + 30522 + 2 * d + 2);
}

TEST(Bert, MultipliesAsTheClosedFormSays) {
  constexpr std::int64_t kEncoder = 12;
  constexpr std::int64_t d = 768;
  EXPECT_EQ(multiply_adds(load_graph("bert-base:training=false,batch=3,sequence=128")),
            3 * (kEncoder * layer_multiply_adds(d, 4 * d, 128, 128) + d * d));
  // 15% of 128 words are guessed: 19.
  EXPECT_EQ(multiply_adds(load_graph("bert-base:batch=3,sequence=128")),
            3 * (kEncoder * layer_multiply_adds(d, 4 * d, 128, 128) + d * d + 2 * d +
                 19 * (d * d + d * 30522)));
}

TEST(Llama, HasTheParametersOfThePublishedWeights) {
  // As KerasHub and transformers count llama-7b and llama-13b.
  EXPECT_EQ(parameters("llama-7b:training=false,sequence=8"), 6'738'415'616);
  EXPECT_EQ(parameters("llama-7b"), 6'738'415'616);
  EXPECT_EQ(parameters("llama-13b:training=false,sequence=8"), 13'015'864'320);
  // A block: four projections, three matrices of the gated network, two scales.
  EXPECT_EQ(parameters("llama-block"), 4 * 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096);
  EXPECT_EQ(parameters("llama-7b") - 2 * 32000 * 4096 - 4096, 32 * parameters("llama-block"));
}

TEST(Llama, MultipliesAsTheClosedFormSays) {
  // The gated network has three matrices: half as much again.
  const auto layer = [](std::int64_t s, std::int64_t k) {
    return layer_multiply_adds(4096, 11008, s, k) + s * 4096 * 11008;
  };
  EXPECT_EQ(multiply_adds(load_graph("llama-7b:training=false,sequence=64")),
            32 * layer(64, 64) + 4096 * 32000);
  EXPECT_EQ(multiply_adds(load_graph("llama-7b:sequence=64")),
            32 * layer(64, 64) + 64LL * 4096 * 32000);
  EXPECT_EQ(multiply_adds(load_graph("llama-block:training=false,sequence=1,cached=2047,batch=4")),
            4 * layer(1, 2048));
}

TEST(Llama, AShorterTypeHalvesWhatItHolds) {
  const GraphTotals whole = totals(load_graph("llama-7b:sequence=64"));
  const GraphTotals half = totals(load_graph("llama-7b:sequence=64,type=bfloat16"));
  EXPECT_EQ(whole.parameter_bytes, 4 * 6'738'415'616);
  EXPECT_EQ(half.parameter_bytes, 2 * 6'738'415'616);
  EXPECT_EQ(half.persistent_bytes, 3 * half.parameter_bytes);  // and two slots of adam
  EXPECT_EQ(half.flops, whole.flops);
}

TEST(T5, HasTheParametersOfThePublishedWeights) {
  EXPECT_EQ(parameters("t5"), 222'903'552);  // t5-base, as KerasHub counts it
  // t5-small: 6 layers of width 512, 8 heads.
  EXPECT_EQ(parameters("t5:layers=6,width=512,heads=8,inner=2048"), 60'506'624);
}

TEST(T5, MultipliesAsTheClosedFormSays) {
  constexpr std::int64_t d = 768;
  constexpr std::int64_t f = 3072;
  const std::int64_t encoder = layer_multiply_adds(d, f, 50, 50);
  // A decoder's layer also asks the 50 encoded tokens: queries and results of 20, keys and values
  // of 50.
  const std::int64_t decoder =
      layer_multiply_adds(d, f, 20, 20) + 2 * d * d * (20 + 50) + 2 * 20 * 50 * d;
  EXPECT_EQ(multiply_adds(load_graph("t5:batch=3,sequence=50,target=20")),
            3 * (12 * (encoder + decoder) + 20 * d * 32128));
}

TEST(Vit, HasThePublishedParametersAndMultiplyAdds) {
  // torchvision's vit_b_16: 86,567,656 parameters and 17.56e9 multiply-adds for one image.
  const OpGraph graph = load_graph("vit:training=false,batch=1");
  EXPECT_EQ(totals(graph).parameters, 86'567'656);
  EXPECT_NEAR(static_cast<double>(multiply_adds(graph)), 17.56e9, 0.005e9);
  // 14 x 14 patches of 3 x 16 x 16 numbers, and the class token among 197 tokens.
  EXPECT_EQ(multiply_adds(graph),
            196 * 768 * 768 + 12 * layer_multiply_adds(768, 3072, 197, 197) + 768 * 1000);
  // torchvision's vit_l_16.
  EXPECT_EQ(parameters("vit:layers=24,width=1024,heads=16,inner=4096,training=false"), 304'326'632);
}

TEST(MoeTransformer, HasTheParametersOfItsParts) {
  constexpr std::int64_t d = 768;
  constexpr std::int64_t f = 3072;
  // 12 layers of attention and two scales; 6 of them one network, 6 a router and 8 networks.
  EXPECT_EQ(parameters("moe-transformer"),
            32128 * d + 12 * (4 * d * d + 2 * d) + 6 * 2 * d * f + 6 * (8 * d + 8 * 2 * d * f) + d);
}

TEST(MoeTransformer, ExpertsWorkUpToTheirCapacity) {
  constexpr std::int64_t d = 768;
  constexpr std::int64_t f = 3072;
  // 2 x 100 tokens, each to 2 of 8 experts: 50 for each, times 1.25 and rounded up 63.
  const std::int64_t dense = 2 * 100 * 4 * d * d + 2 * 2 * 100 * 100 * d;
  EXPECT_EQ(
      multiply_adds(load_graph("moe-transformer:batch=2,sequence=100")),
      12 * dense + 6 * 200 * 2 * d * f + 6 * (200 * 8 * d + 8 * 63 * 2 * d * f) + 200 * d * 32128);
  // An expert never takes more tokens than there are.
  const OpGraph greedy = load_graph("moe-transformer:batch=1,sequence=10,experts=2,capacity=100");
  for (const auto op : boost::make_iterator_range(boost::vertices(greedy))) {
    if (greedy[op].kind == "moe_dispatch") {
      EXPECT_EQ(greedy[op].shape, (std::vector<std::int64_t>{10, d, 2, 2, 10}));
    }
  }
}

TEST(MoeTransformer, EachExpertHasAScopeOfItsOwn) {
  const auto names = scopes_of(load_graph("moe-transformer:experts=3"));
  EXPECT_THAT(names, IsSupersetOf({"layer_0/feed_forward", "layer_1/mixture/router",
                                   "layer_1/mixture/expert_0", "layer_1/mixture/expert_2",
                                   "layer_11/mixture/expert_1"}));
  EXPECT_FALSE(names.contains("layer_1/mixture/expert_3"));
}

TEST(TransformerXl, HasThePapersParameters) {
  // Table 2 of the paper says 41M for 12 layers. A layer: queries, keys, values, results and
  // distances of 512 x 512 each, a network of 512 x 2048 both ways with biases, two normalizations.
  constexpr std::int64_t d = 512;
  constexpr std::int64_t kLayer = 5 * d * d + 2 * d * 2048 + 2048 + d + 4 * d;
  EXPECT_EQ(parameters("transformer-xl"), 12 * kLayer + 204 * d + 204 + 2 * d);
  EXPECT_EQ(parameters("transformer-xl") / 1'000'000, 41);
  // The 24-layer model of width 1024 has 277M (the same table).
  EXPECT_EQ(parameters("transformer-xl:layers=24,width=1024,head-width=128,inner=3072") / 1'000'000,
            277);
}

TEST(TransformerXl, MultipliesAsTheClosedFormSays) {
  constexpr std::int64_t d = 512;
  // 30 tokens see 80 keys: queries and results of 30, keys and values of 80 tokens in each of 2
  // segments; distances projected once; scores by content and by distance, and values.
  const std::int64_t layer = 2 * (2 * 30 * d * d + 2 * 80 * d * d) + 80 * d * d +
                             2 * 3 * 30 * 80 * d + 2 * 30 * 2 * d * 2048;
  EXPECT_EQ(multiply_adds(load_graph("transformer-xl:batch=2,sequence=30,memory=50")),
            12 * layer + 2 * 30 * d * 204);
}

TEST(Dlrm, HasTheTablesAndLayersOfThePublishedScript) {
  // Rows of 26 tables, each of 16 numbers, for the Criteo Kaggle data; networks of 13-512-256-64-16
  // and, over the first of 27 vectors and 351 products, 367-512-256-1.
  constexpr std::int64_t kRows = 33'762'577;
  EXPECT_EQ(parameters("dlrm"), 16 * kRows + (13 * 512 + 512) + (512 * 256 + 256) +
                                    (256 * 64 + 64) + (64 * 16 + 16) + (367 * 512 + 512) +
                                    (512 * 256 + 256) + (256 + 1));
  EXPECT_EQ(parameters("dlrm"), 540'677'217);
}

TEST(Dlrm, MultipliesAsTheClosedFormSays) {
  EXPECT_EQ(multiply_adds(load_graph("dlrm:batch=10")),
            10 * (13 * 512 + 512 * 256 + 256 * 64 + 64 * 16 + 27 * 27 * 16 + 367 * 512 + 512 * 256 +
                  256));
}

TEST(Dlrm, TouchesOnlyTheRowsThatABatchLooksUp) {
  const OpGraph graph = load_graph("dlrm:batch=100,lookups=3,max-rows=1000000");
  int tables = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const Op& update = graph[op];
    if (update.kind == "optimizer_update" && update.scope.starts_with("table_")) {
      ++tables;
      EXPECT_LE(update.shape[0], 300 * 16) << update.name;
    }
  }
  EXPECT_EQ(tables, 26);
  EXPECT_LT(totals(graph).parameters, totals(load_graph("dlrm")).parameters / 4);
}

TEST(Transformers, GradientsOfProductsTakeTwiceTheForwardPass) {
  // Every product has two sides with a variable upstream, but for those that read what enters the
  // step: images, numbers, and distances of transformer-xl.
  for (const char* spec :
       {"gpt2-small:batch=1,sequence=32", "bert-base:batch=1,sequence=32", "llama-7b:sequence=32",
        "t5:batch=1,sequence=32,target=16", "moe-transformer:batch=1,sequence=32"}) {
    const OpGraph graph = load_graph(spec);
    EXPECT_EQ(multiply_adds(graph, Phase::kBackward), 2 * multiply_adds(graph)) << spec;
  }
  const OpGraph vit = load_graph("vit:batch=1");
  EXPECT_EQ(multiply_adds(vit, Phase::kBackward), 2 * multiply_adds(vit) - 196 * 768 * 768);
}

TEST(Transformers, LayersAndTheirHalvesHaveScopes) {
  for (const std::string name : {"gpt2-small", "bert-base", "llama-7b", "vit", "transformer-xl"}) {
    EXPECT_THAT(scopes_of(load_graph(name + ":batch=1")),
                IsSupersetOf({"embedding", "layer_0/attention", "layer_0/feed_forward",
                              "layer_11/attention", "head"}))
        << name;
  }
  EXPECT_THAT(scopes_of(load_graph("t5:batch=1")),
              IsSupersetOf({"encoder/layer_0/attention", "encoder/layer_11/feed_forward",
                            "decoder/layer_11/cross_attention", "head"}));
}

TEST(Transformers, EveryVariableOfATrainingGraphIsUpdatedOnce) {
  for (const char* spec : {"gpt2-small", "bert-base", "llama-block", "t5", "vit", "moe-transformer",
                           "transformer-xl", "dlrm"}) {
    auto counts = count_kinds(load_graph(spec));
    EXPECT_GT(counts["variable"], 0) << spec;
    EXPECT_EQ(counts["optimizer_update"], counts["variable"]) << spec;
  }
}

TEST(Transformers, InferenceHasNeitherLossNorDropout) {
  for (const std::string name : {"gpt2-small", "bert-base", "llama-block", "t5", "vit",
                                 "moe-transformer", "transformer-xl", "dlrm"}) {
    auto counts = count_kinds(load_graph(name + ":training=false"));
    for (const char* kind : {"dropout", "softmax_cross_entropy", "sigmoid_cross_entropy",
                             "mean_squared_error", "optimizer_update"}) {
      EXPECT_EQ(counts[kind], 0) << name << " " << kind;
    }
  }
}

}  // namespace
}  // namespace emplace::transformers_test

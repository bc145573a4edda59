#include <emplace/base/error.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::nmt_test {
namespace {

using test::count_kinds;
using test::find;
using test::producers_of;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Weights of an LSTM layer: four gates, each of which reads input, state and a bias.
constexpr std::int64_t lstm(std::int64_t inputs, std::int64_t hidden) {
  return 4 * hidden * (inputs + hidden + 1);
}

// Weights of GNMT with as many layers on either side (Wu et al. 2016, figure 1): two tables; a
// layer in both directions, one on the results of both, and more; decoder layers that read the
// layer below and the context; the hidden layer of attention, for keys, queries and scores;
// softmax.
constexpr std::int64_t gnmt(std::int64_t layers, std::int64_t h, std::int64_t vocabulary) {
  return 2 * vocabulary * h + 2 * lstm(h, h) + lstm(2 * h, h) + (layers - 2) * lstm(h, h) +
         layers * lstm(2 * h, h) + 2 * h * h + h + (h + 1) * vocabulary;
}

TEST(Nmt, HasTheParametersOfItsFormula) {
  for (const int layers : {2, 4, 8}) {
    const auto text = "nmt:layers=" + std::to_string(layers);
    EXPECT_EQ(totals(load_graph(text)).parameters, gnmt(layers, 1024, 50'000)) << text;
  }
  EXPECT_EQ(totals(load_graph("nmt:hidden=8,vocabulary=11,steps=3,batch=2")).parameters,
            gnmt(2, 8, 11));
}

TEST(Nmt, UnrollsEveryLayer) {
  const OpGraph graph = load_graph("nmt:layers=4,hidden=8,vocabulary=11,steps=5,batch=2");
  EXPECT_EQ(count_kinds(graph)["lstm_cell"], 5 * ((2 + 3) + 4));
  EXPECT_EQ(count_kinds(graph)["lstm_cell_backward"], 5 * ((2 + 3) + 4));
  EXPECT_EQ(count_kinds(graph)["batch_matmul"], 5 * 3);  // a context, and its two gradients
  EXPECT_EQ(count_kinds(graph)["softmax_cross_entropy"], 5);
  // Two tables, two for each LSTM layer, keys, queries and scores of attention, softmax's two.
  EXPECT_EQ(count_kinds(graph)["optimizer_update"], 2 + 2 * (5 + 4) + 3 + 2);
  EXPECT_EQ(count_kinds(graph)["add"], 5 * (2 + 2));  // residual connections of layers 2 and 3
}

TEST(Nmt, ConnectsItsLayersAsGnmtDoes) {
  const OpGraph graph =
      load_graph("nmt:layers=3,hidden=8,vocabulary=11,steps=3,batch=2,training=false");
  EXPECT_THAT(producers_of(graph, "encoder/layer_0/concat"),
              ElementsAre("encoder/layer_0/forward/step_0/lstm_cell",
                          "encoder/layer_0/backward/step_2/lstm_cell"));
  EXPECT_THAT(producers_of(graph, "encoder/layer_2/step_1/add"),
              ElementsAre("encoder/layer_2/step_1/lstm_cell", "encoder/layer_1/step_1/lstm_cell"));
  EXPECT_THAT(producers_of(graph, "attention/concat"),
              ElementsAre("encoder/layer_2/step_0/add", "encoder/layer_2/step_1/add",
                          "encoder/layer_2/step_2/add"));
  // The query is what the bottom layer gave one step before: first the encoder's state.
  EXPECT_THAT(producers_of(graph, "attention/step_0/matmul"),
              ElementsAre("encoder/layer_0/backward/step_2/lstm_cell", "attention/query_weights"));
  EXPECT_THAT(producers_of(graph, "attention/step_1/matmul"),
              ElementsAre("decoder/layer_0/step_0/lstm_cell", "attention/query_weights"));
  // Each layer reads the layer below and the context.
  EXPECT_THAT(producers_of(graph, "decoder/layer_2/step_1/concat"),
              ElementsAre("decoder/layer_1/step_1/lstm_cell", "attention/step_1/reshape_3"));
  EXPECT_THAT(producers_of(graph, "decoder/layer_1/step_0/lstm_cell"),
              ElementsAre("decoder/layer_1/step_0/dropout", "encoder/layer_1/step_2/lstm_cell",
                          "encoder/layer_1/step_2/lstm_cell", "decoder/layer_1/weights",
                          "decoder/layer_1/bias"));
}

// What is kept of attention: for every pair of steps, the tanh of batch x hidden numbers.
TEST(Nmt, AttentionLooksFromEveryStepAtEveryWord) {
  const OpGraph graph = load_graph("nmt:hidden=8,vocabulary=11,steps=5,batch=2,training=false");
  const Op& fit = find(graph, "attention/step_4/tanh");
  EXPECT_THAT(fit.outputs[0].shape, ElementsAre(5, 2, 8));
  const Op& context = find(graph, "attention/step_4/batch_matmul");
  EXPECT_THAT(context.shape, ElementsAre(2, 1, 8, 5));  // for each sentence 1 x 5 times 5 x 8
}

TEST(Nmt, ScopesNameLayersAttentionAndSoftmax) {
  const OpGraph graph = load_graph("nmt:hidden=8,vocabulary=11,steps=2,batch=2");
  std::set<std::string> parts;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const std::string& scope = graph[op].scope;
    parts.insert(scope.substr(0, scope.find("/step_")));
  }
  EXPECT_THAT(parts, UnorderedElementsAre("encoder/embedding", "encoder/layer_0",
                                          "encoder/layer_0/forward", "encoder/layer_0/backward",
                                          "encoder/layer_1", "attention", "decoder/embedding",
                                          "decoder/layer_0", "decoder/layer_1", "softmax"));
}

TEST(Nmt, OneLayerIsThatOfBothDirections) {
  EXPECT_EQ(totals(load_graph("nmt:layers=1,hidden=8,vocabulary=11,steps=3,batch=2")).parameters,
            2 * 11 * 8 + 2 * lstm(8, 8) + lstm(8 + 16, 8) + (16 * 8 + 8 * 8 + 8) + (8 + 1) * 11);
}

TEST(Nmt, FormsGroups) { EXPECT_EQ(group_ops(load_graph("nmt")).size(), kDefaultGroups); }

TEST(Nmt, RefusesParametersOutOfBounds) {
  EXPECT_THROW(load_graph("nmt:layers=0"), Error);
  EXPECT_THROW(load_graph("nmt:vocabulary=1"), Error);
}

}  // namespace
}  // namespace emplace::nmt_test

// Layers that choose against counts by hand.

#include "graphs/model_building.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::model_builder_routing_test {
namespace {

using test::op_of;
using testing::ElementsAre;

TEST(ModelBuilderRouting, TokensGoToTheirExpertsAndBack) {
  // 10 tokens of width 6, each to 2 of 4 experts, of which each takes 5.
  ModelBuilder net("tiny");
  const Tensor x = net.input("x", {10, 6});
  const Tensor probabilities = net.input("probabilities", {10, 4});
  const Routing routing = net.top_k(probabilities, 2);
  EXPECT_THAT(net.shape(routing.weights), ElementsAre(10, 2));
  EXPECT_THAT(net.shape(routing.experts), ElementsAre(10, 2));
  const std::vector<Tensor> parts = net.dispatch(x, routing, 4, 5);
  ASSERT_EQ(parts.size(), 4U);
  for (const Tensor part : parts) {
    EXPECT_THAT(net.shape(part), ElementsAre(5, 6));
  }
  const Tensor y = net.combine(parts, routing);
  EXPECT_THAT(net.shape(y), ElementsAre(10, 6));
  const Tensor loss = net.balance_loss(probabilities, routing);
  EXPECT_TRUE(net.shape(loss).empty());

  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, routing.weights).flops, 2 * 40);  // 2 places, each the best of 4
  EXPECT_EQ(op_of(graph, routing.weights).bytes_written, 4 * (20 + 20));
  EXPECT_EQ(op_of(graph, parts[0]).flops, 0);
  EXPECT_EQ(op_of(graph, parts[0]).bytes_read, 4 * (60 + 20));
  EXPECT_EQ(op_of(graph, parts[0]).bytes_written, 4 * 4 * 30);
  EXPECT_EQ(op_of(graph, y).flops, 2 * 2 * 60);  // a multiply-add for each expert of a number
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * (4 * 30 + 20 + 20));
  // 40 probabilities added up, 20 choices counted, 4 products added up.
  EXPECT_EQ(op_of(graph, loss).flops, 40 + 20 + 2 * 4);
}

TEST(ModelBuilderRouting, ABagReadsOnlyTheRowsThatAreLookedUp) {
  ModelBuilder net("tiny");
  const Tensor table = net.variable("table", {1000, 8});
  const Tensor y = net.embedding_bag(table, net.input("ids", {5, 3}, DataType::kInt32));
  EXPECT_THAT(net.shape(y), ElementsAre(5, 8));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(5, 3, 1000, 8));
  EXPECT_EQ(op_of(graph, y).flops, 5 * 2 * 8);
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * (15 * 8 + 15));
  EXPECT_EQ(op_of(graph, y).bytes_written, 4 * 40);
}

TEST(ModelBuilderRouting, ATriangleHasAnEntryForEachPair) {
  ModelBuilder net("tiny");
  const Tensor y = net.lower_triangle(net.input("x", {5, 27, 27}));
  EXPECT_THAT(net.shape(y), ElementsAre(5, 351));  // 27 * 26 / 2
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * 5 * 351);
}

TEST(ModelBuilderRouting, LossesAgainstNumbersAreScalars) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("x", {4, 6});
  const Tensor y = net.input("y", {4, 6});
  const Tensor entropy = net.sigmoid_cross_entropy(x, y);
  const Tensor error = net.mean_squared_error(x, y);
  EXPECT_TRUE(net.shape(entropy).empty());
  EXPECT_TRUE(net.shape(error).empty());
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, error).flops, 3 * 24);
  // max(x, 0) - x y + log(1 + exp(-|x|)): nine operations, and one to add it up.
  EXPECT_EQ(op_of(graph, entropy).flops, 10 * 24);
}

TEST(ModelBuilderRouting, ShapesThatDoNotFitAreRefused) {
  test::expect_refused({
      {[](auto& net) {
         net.top_k(net.input("p", {10, 4}), 5);
       },
       "experts for each token"},
      {[](auto& net) {
         const Routing routing = net.top_k(net.input("p", {10, 4}), 1);
         net.dispatch(net.input("x", {9, 6}), routing, 4, 5);
       },
       "as many tokens"},
      {[](auto& net) {
         net.combine({}, net.top_k(net.input("p", {10, 4}), 1));
       },
       "results"},
      {[](auto& net) {
         net.balance_loss(net.input("q", {9, 4}), net.top_k(net.input("p", {10, 4}), 1));
       },
       "as many tokens"},
      {[](auto& net) {
         net.embedding_bag(net.variable("table", {10, 4}), net.input("ids", {5, 3}));
       },
       "integers"},
      {[](auto& net) {
         net.lower_triangle(net.input("x", {5, 4, 3}));
       },
       "square"},
      {[](auto& net) { net.mean_squared_error(net.input("x", {5}), net.input("y", {4})); },
       "target"},
  });
}

}  // namespace
}  // namespace emplace::model_builder_routing_test

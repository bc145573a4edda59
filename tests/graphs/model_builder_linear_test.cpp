#include "graphs/model_building.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::model_builder_linear_test {
namespace {

using test::op_of;
using testing::ElementsAre;

TEST(ModelBuilderLinear, AProductCountsTwoFlopsForEachMultiplyAdd) {
  ModelBuilder net("tiny");
  const Tensor y = net.matmul(net.input("a", {2, 3, 5}), net.input("b", {5, 7}));
  EXPECT_THAT(net.shape(y), ElementsAre(2, 3, 7));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(6, 7, 5));  // the leading dimensions are rows
  EXPECT_EQ(op_of(graph, y).flops, 2 * 6 * 7 * 5);
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * (2 * 3 * 5 + 5 * 7));
  EXPECT_EQ(op_of(graph, y).bytes_written, 4 * 2 * 3 * 7);
}

TEST(ModelBuilderLinear, EitherSideOfAProductMayBeStoredTransposed) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("x", {5, 3});
  const Tensor y = net.input("y", {7, 5});
  const Tensor both = net.matmul(x, y, {.left = true, .right = true});
  EXPECT_THAT(net.shape(both), ElementsAre(3, 7));
  const Tensor right = net.matmul(net.input("z", {4, 2, 5}), y, {.right = true});
  EXPECT_THAT(net.shape(right), ElementsAre(4, 2, 7));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, both).shape, ElementsAre(3, 7, 5));
}

TEST(ModelBuilderLinear, ABatchOfProductsKeepsItsLeadingDimensions) {
  ModelBuilder net("tiny");
  const Tensor queries = net.input("queries", {2, 4, 6, 8});  // batch, heads, positions, width
  const Tensor keys = net.input("keys", {2, 4, 9, 8});
  const Tensor scores = net.batch_matmul(queries, keys, {.right = true});
  EXPECT_THAT(net.shape(scores), ElementsAre(2, 4, 6, 9));
  const Tensor back = net.batch_matmul(scores, queries, {.left = true});
  EXPECT_THAT(net.shape(back), ElementsAre(2, 4, 9, 8));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, scores).shape, ElementsAre(8, 6, 9, 8));
  EXPECT_EQ(op_of(graph, scores).flops, 2 * 8 * 6 * 9 * 8);
  EXPECT_EQ(op_of(graph, scores).bytes_read, 4 * 8 * (6 * 8 + 9 * 8));
}

TEST(ModelBuilderLinear, ADenseLayerWorksOnRowsOfAnyRankWithOrWithoutBias) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("x", {2, 3, 5});
  const Tensor with = net.dense(x, 7);
  const Tensor without = net.dense(x, 7, Bias::kNone);
  EXPECT_THAT(net.shape(with), ElementsAre(2, 3, 7));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(totals(graph).parameters, (5 * 7 + 7) + 5 * 7);
  EXPECT_EQ(op_of(graph, without).kind, "matmul");
  EXPECT_THAT(op_of(graph, with).shape, ElementsAre(6, 7));  // of the bias_add: rows, columns
}

TEST(ModelBuilderLinear, ABiasMayHaveSeveralDimensions) {
  ModelBuilder net("tiny");
  const Tensor y = net.bias_add(net.input("x", {8, 10, 16}), net.variable("positions", {10, 16}));
  EXPECT_THAT(net.shape(y), ElementsAre(8, 10, 16));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(8, 160));
  EXPECT_EQ(op_of(graph, y).flops, 8 * 160);
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * (8 * 160 + 160));
}

TEST(ModelBuilderLinear, SoftmaxIsTakenOverTheLastDimension) {
  ModelBuilder net("tiny");
  const Tensor y = net.softmax(net.input("x", {2, 3, 5}));
  EXPECT_THAT(net.shape(y), ElementsAre(2, 3, 5));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(6, 5));
  EXPECT_EQ(op_of(graph, y).flops, 5 * 30);
}

TEST(ModelBuilderLinear, RefusesShapesThatDoNotFit) {
  test::expect_refused({
      {[](auto& net) {
         net.matmul(net.input("a", {2, 3}), net.input("b", {4, 5}));
       },
       "cannot multiply 3 columns by 4 rows"},
      {[](auto& net) {
         net.matmul(net.input("a", {2, 3}), net.input("b", {4, 3}), {.left = true, .right = true});
       },
       "cannot multiply 2 columns by 3 rows"},
      {[](auto& net) {
         net.matmul(net.input("a", {2, 3}), net.input("b", {1, 3, 5}));
       },
       "[..., K] and [K, N], found [2, 3] and [1, 3, 5]"},
      {[](auto& net) {
         net.matmul(net.input("a", {1, 2, 3}), net.input("b", {2, 5}), {.left = true});
       },
       "found [1, 2, 3]"},
      {[](auto& net) {
         net.batch_matmul(net.input("a", {2, 3}), net.input("b", {3, 4}));
       },
       "[..., M, K] and [..., K, N], found [2, 3] and [3, 4]"},
      {[](auto& net) {
         net.batch_matmul(net.input("a", {2, 3, 4}), net.input("b", {3, 4, 5}));
       },
       "found [2, 3, 4] and [3, 4, 5]"},
      {[](auto& net) {
         net.batch_matmul(net.input("a", {2, 3, 4}), net.input("b", {2, 3, 4}));
       },
       "cannot multiply 4 columns by 3 rows"},
      {[](auto& net) {
         net.bias_add(net.input("x", {2, 3}), net.input("b", {2}));
       },
       "that [2, 3] ends in, found [2]"},
      {[](auto& net) {
         net.bias_add(net.input("x", {3}), net.input("b", {2, 3}));
       },
       "found [2, 3]"},
      {[](auto& net) { net.dense(net.input("x", {}), 3); }, "a tensor [..., K]"},
      {[](auto& net) { net.softmax(net.input("x", {})); }, "a scalar"},
  });
}

}  // namespace
}  // namespace emplace::model_builder_linear_test

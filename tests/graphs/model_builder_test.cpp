#include "graphs/model_building.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace emplace::model_builder_test {
namespace {

using test::op_of;
using testing::ElementsAre;

TEST(ModelBuilder, AConvolutionCountsTwoFlopsForEachMultiplyAdd) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("image", {2, 3, 8, 8});
  const Tensor y =
      net.conv2d(x, {.filters = 4, .kernel = {3, 3}, .stride = 2, .padding = Padding::kValid});
  EXPECT_THAT(net.shape(y), ElementsAre(2, 4, 3, 3));  // (8 - 3) / 2 + 1 = 3
  const OpGraph graph = std::move(net).finish();
  const Op& conv = op_of(graph, y);
  EXPECT_THAT(conv.shape, ElementsAre(2, 3, 8, 8, 4, 3, 3, 2, 2, 1, 3, 3));
  EXPECT_EQ(conv.flops, 2 * (2 * 4 * 3 * 3) * (3 * 3 * 3));  // results times window
  EXPECT_EQ(conv.bytes_read, 4 * (2 * 3 * 8 * 8 + 4 * 3 * 3 * 3));
  EXPECT_EQ(conv.bytes_written, 4 * (2 * 4 * 3 * 3));
  EXPECT_EQ(conv.persistent_bytes, 0);
}

TEST(ModelBuilder, SamePaddingGivesOneResultForEachStride) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("image", {1, 1, 7, 10});
  EXPECT_THAT(net.shape(net.conv2d(x, {.kernel = {5, 3}})), ElementsAre(1, 1, 7, 10));
  EXPECT_THAT(net.shape(net.conv2d(x, {.kernel = {3, 3}, .stride = 3})), ElementsAre(1, 1, 3, 4));
}

TEST(ModelBuilder, AStrideMayDifferDownAndAcross) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("image", {1, 3, 9, 9});
  const Tensor y = net.conv2d(x, {.filters = 2, .kernel = {1, 7}, .stride = {1, 2}});
  EXPECT_THAT(net.shape(y), ElementsAre(1, 2, 9, 5));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(1, 3, 9, 9, 2, 1, 7, 1, 2, 1, 9, 5));
}

TEST(ModelBuilder, ADilatedWindowCoversMoreAndCostsTheSameForEachResult) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("image", {1, 1, 9, 9});
  const Tensor y =
      net.conv2d(x, {.filters = 1, .kernel = {3, 3}, .padding = Padding::kValid, .dilation = 3});
  EXPECT_THAT(net.shape(y), ElementsAre(1, 1, 3, 3));  // 3 x 3 elements 3 apart span 7 x 7
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, y).flops, 2 * (3 * 3) * (3 * 3));
}

TEST(ModelBuilder, ADepthwiseConvolutionHasOneFilterForEachChannel) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("image", {2, 5, 8, 8});
  const Tensor y = net.depthwise_conv2d(x, {.kernel = {3, 3}, .stride = 2});
  EXPECT_THAT(net.shape(y), ElementsAre(2, 5, 4, 4));
  const OpGraph graph = std::move(net).finish();
  const Op& conv = op_of(graph, y);
  EXPECT_THAT(conv.shape, ElementsAre(2, 5, 8, 8, 3, 3, 2, 2, 4, 4));
  EXPECT_EQ(totals(graph).parameters, 5 * 3 * 3);
  EXPECT_EQ(conv.flops, 2 * (2 * 5 * 4 * 4) * (3 * 3));
  EXPECT_EQ(conv.bytes_read, 4 * (2 * 5 * 8 * 8 + 5 * 3 * 3));
}

// As ConvTranspose2d of PyTorch with kernel 4 and stride 2: padding 1 doubles a map of 5 x 5 to
// 10 x 10, no padding makes it (5 - 1) 2 + 4 = 12.
TEST(ModelBuilder, ATransposedConvolutionEnlargesTheMap) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("image", {2, 6, 5, 5});
  const Tensor same = net.conv2d_transpose(x, {.filters = 3, .kernel = {4, 4}, .stride = 2});
  const Tensor valid = net.conv2d_transpose(
      x, {.filters = 3, .kernel = {4, 4}, .stride = 2, .padding = Padding::kValid});
  EXPECT_THAT(net.shape(same), ElementsAre(2, 3, 10, 10));
  EXPECT_THAT(net.shape(valid), ElementsAre(2, 3, 12, 12));
  const OpGraph graph = std::move(net).finish();
  // The transpose of a convolution from 3 channels of 10 x 10 to 6 channels of 5 x 5.
  EXPECT_THAT(op_of(graph, same).shape, ElementsAre(2, 3, 10, 10, 6, 4, 4, 2, 2, 1, 5, 5));
  EXPECT_EQ(op_of(graph, same).flops, 2 * (2 * 6 * 5 * 5) * (3 * 4 * 4));
  EXPECT_EQ(totals(graph).parameters, 2 * 6 * 3 * 4 * 4);
}

TEST(ModelBuilder, ABiasIsOneNumberForEachChannelOfAMap) {
  ModelBuilder net("tiny");
  const Tensor y = net.channel_bias_add(net.input("x", {2, 5, 3, 3}));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(totals(graph).parameters, 5);
  EXPECT_EQ(op_of(graph, y).flops, 2 * 5 * 3 * 3);
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(2, 5, 9));
}

TEST(ModelBuilder, AShiftOnlyMovesData) {
  ModelBuilder net("tiny");
  const Tensor y = net.shift2d(net.input("x", {2, 5, 3, 3}));
  EXPECT_THAT(net.shape(y), ElementsAre(2, 5, 3, 3));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, y).flops, 0);
  EXPECT_EQ(op_of(graph, y).bytes_read + op_of(graph, y).bytes_written, 2 * 4 * 2 * 5 * 3 * 3);
}

TEST(ModelBuilder, AVariableSharesItsDeviceWithItsReaderAndIsItsOwnStorage) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("image", {1, 3, 8, 8});
  const auto scope = net.scope("block");
  const Tensor y = net.conv2d(x, {.filters = 4, .kernel = {3, 3}});
  const OpGraph graph = std::move(net).finish();
  const Op& variable = graph[1];
  EXPECT_EQ(variable.name, "block/conv2d/weights");
  EXPECT_EQ(variable.kind, "variable");
  EXPECT_EQ(variable.scope, "block");
  EXPECT_EQ(variable.parameters, 4 * 3 * 3 * 3);
  EXPECT_EQ(variable.persistent_bytes, 4 * 4 * 3 * 3 * 3);
  ASSERT_EQ(variable.outputs.size(), 1U);
  EXPECT_TRUE(variable.outputs[0].persistent);
  EXPECT_EQ(variable.outputs[0].bytes, variable.persistent_bytes);
  EXPECT_EQ(variable.bytes_read + variable.bytes_written, 0);
  EXPECT_EQ(variable.colocation, variable.name);
  EXPECT_EQ(op_of(graph, y).colocation, variable.name);
}

TEST(ModelBuilder, BatchNormReadsItsInputTwiceAndKeepsMovingStatistics) {
  ModelBuilder net("tiny");
  const Tensor y = net.batch_norm(net.input("x", {2, 5, 3, 3}));
  const OpGraph graph = std::move(net).finish();
  const Op& norm = op_of(graph, y);
  constexpr std::int64_t kMapBytes = 4 * 2 * 5 * 3 * 3;
  constexpr std::int64_t kChannelPairBytes = 4 * 2 * 5;  // scale and offset; mean and variance
  EXPECT_EQ(totals(graph).parameters, 10);
  EXPECT_EQ(norm.persistent_bytes, kChannelPairBytes);
  EXPECT_EQ(norm.bytes_read, 2 * kMapBytes + 2 * kChannelPairBytes);
  EXPECT_EQ(norm.bytes_written, kMapBytes + 2 * kChannelPairBytes);
  EXPECT_THAT(norm.shape, ElementsAre(2, 5, 9));
  ASSERT_EQ(norm.outputs.size(), 2U);
  EXPECT_EQ(norm.outputs[1].bytes, kChannelPairBytes);
}

TEST(ModelBuilder, ADenseLayerIsAMatmulAndABias) {
  ModelBuilder net("tiny");
  const Tensor y = net.dense(net.input("x", {8, 20}), 5);
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(totals(graph).parameters, 20 * 5 + 5);
  EXPECT_EQ(totals(graph).flops, 2 * 8 * 20 * 5 + 8 * 5);
  EXPECT_EQ(op_of(graph, y).kind, "bias_add");
  EXPECT_EQ(op_of(graph, y).colocation, "bias_add/bias");
}

TEST(ModelBuilder, PoolingCountsOneOperationForEachElementOfAWindow) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("x", {2, 3, 9, 9});
  const Tensor max = net.max_pool(x, {.kernel = 3, .stride = 2});
  const Tensor mean = net.avg_pool(x, {.kernel = 3, .stride = 1, .padding = Padding::kSame});
  const Tensor global = net.global_avg_pool(x);
  EXPECT_THAT(net.shape(max), ElementsAre(2, 3, 4, 4));
  EXPECT_THAT(net.shape(mean), ElementsAre(2, 3, 9, 9));
  EXPECT_THAT(net.shape(global), ElementsAre(2, 3));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, max).flops, 2 * 3 * 4 * 4 * 8);   // comparisons
  EXPECT_EQ(op_of(graph, mean).flops, 2 * 3 * 9 * 9 * 9);  // additions and a scaling
  EXPECT_EQ(op_of(graph, global).flops, 2 * 3 * 9 * 9);
  EXPECT_THAT(op_of(graph, global).shape, ElementsAre(2, 3, 9, 9, 9, 9, 1, 1, 1));
}

TEST(ModelBuilder, ConcatJoinsChannelsAndOnlyMovesThem) {
  ModelBuilder net("tiny");
  const std::array parts{net.input("a", {2, 3, 4, 4}), net.input("b", {2, 5, 4, 4})};
  const Tensor y = net.concat(parts);
  EXPECT_THAT(net.shape(y), ElementsAre(2, 8, 4, 4));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, y).flops, 0);
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * 2 * 8 * 4 * 4);
  EXPECT_EQ(op_of(graph, y).bytes_written, op_of(graph, y).bytes_read);
}

TEST(ModelBuilder, FlattenMovesNothing) {
  ModelBuilder net("tiny");
  const Tensor y = net.flatten(net.input("x", {2, 3, 4, 4}));
  EXPECT_THAT(net.shape(y), ElementsAre(2, 48));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, y).bytes_read + op_of(graph, y).bytes_written, 0);
}

TEST(ModelBuilder, ElementwiseOpsTouchEachElementOnce) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("x", {2, 10});
  const Tensor sum = net.add(net.relu(x), net.softmax(x));
  const Tensor kept = net.dropout(sum);
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, sum).flops, 20);
  EXPECT_EQ(op_of(graph, sum).bytes_read, 2 * 80);
  EXPECT_EQ(op_of(graph, kept).outputs[0].bytes, 80);
  EXPECT_EQ(op_of(graph, kept).outputs[1].bytes, 20);  // a truth value for each element
}

TEST(ModelBuilder, TheLossIsAScalarWithTheProbabilitiesBesideIt) {
  ModelBuilder net("tiny");
  const Tensor labels = net.input("labels", {4}, DataType::kInt32);
  const std::array losses{net.softmax_cross_entropy(net.input("x", {4, 10}), labels),
                          net.softmax_cross_entropy(net.input("y", {4, 10}), labels)};
  const Tensor loss = net.add_losses(losses);
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, losses[0]).outputs[0].bytes, 4);
  EXPECT_EQ(op_of(graph, losses[0]).outputs[1].bytes, 4 * 4 * 10);
  EXPECT_EQ(op_of(graph, loss).outputs[0].bytes, 4);
}

TEST(ModelBuilder, NamesAreUniqueWithinNestedScopes) {
  ModelBuilder net("tiny");
  Tensor x = net.input("x", {1, 8});
  {
    const auto outer = net.scope("mixed");
    {
      const auto inner = net.scope("branch_1");
      x = net.relu(net.relu(x));
    }
    x = net.relu(x);
  }
  {
    const auto again = net.scope("mixed/branch_1");
    x = net.relu(x);
  }
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(graph[1].name, "mixed/branch_1/relu");
  EXPECT_EQ(graph[2].name, "mixed/branch_1/relu_2");
  EXPECT_EQ(graph[3].name, "mixed/relu");
  EXPECT_EQ(graph[4].name, "mixed/branch_1/relu_3");
  EXPECT_EQ(graph[4].scope, "mixed/branch_1");
}

TEST(ModelBuilder, ANumberedNameThatIsTakenIsPassedOver) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("relu_2", {1, 8});
  net.relu(x);
  net.relu(x);
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(graph[1].name, "relu");
  EXPECT_EQ(graph[2].name, "relu_3");
}

TEST(ModelBuilder, RefusesShapesThatDoNotFit) {
  test::expect_refused({
      {[](auto& net) {
         net.input("x", {1, 0});
       },
       "dimensions of at least 1"},
      {[](auto& net) {
         net.conv2d(net.input("x", {1, 8}), {});
       },
       "[N, C, H, W], found [1, 8]"},
      {[](auto& net) {
         net.conv2d(net.input("x", {1, 1, 2, 2}), {.filters = 0});
       },
       "1 filter"},
      {[](auto& net) {
         net.max_pool(net.input("x", {1, 1, 2, 2}), {.kernel = 3});
       },
       "a window of 3 does not fit into [2, 2]"},
      {[](auto& net) {
         net.max_pool(net.input("x", {1, 1, 2, 2}), {.stride = 0});
       },
       "stride"},
      {[](auto& net) {
         net.conv2d(net.input("x", {1, 1, 2, 2}), {.dilation = 0});
       },
       "dilation"},
      {[](auto& net) {
         net.conv2d_transpose(net.input("x", {1, 1, 2, 2}), {.stride = {2, 0}});
       },
       "2 x 0"},
      {[](auto& net) {
         net.conv2d_transpose(net.input("x", {1, 1, 2, 2}), {.filters = -1});
       },
       "1 filter"},
      {[](auto& net) {
         net.depthwise_conv2d(net.input("x", {1, 8}), {});
       },
       "[N, C, H, W], found [1, 8]"},
      {[](auto& net) {
         net.shift2d(net.input("x", {1, 8}));
       },
       "[N, C, H, W], found [1, 8]"},
      {[](auto& net) { net.channel_bias_add(net.input("x", {8})); }, "[N, C, ...], found [8]"},
      {[](auto& net) { net.batch_norm(net.input("x", {8})); }, "[N, C, ...], found [8]"},
      {[](auto& net) {
         net.dense(net.input("x", {1, 8}), 0);
       },
       "at least 1 unit"},
      {[](auto& net) { net.add(net.input("x", {8}), net.input("y", {9})); }, "add [8] and [9]"},
      {[](auto& net) { net.concat({}); }, "nothing to concatenate"},
      {[](auto& net) {
         net.concat(std::array{net.input("x", {1, 2, 8, 8}), net.input("y", {1, 2, 8, 9})});
       },
       "cannot join [1, 2, 8, 9] to [1, 2, 8, 8] along axis 1"},
      {[](auto& net) {
         net.softmax_cross_entropy(net.input("x", {4, 10}), net.input("y", {5}));
       },
       "[4, 10] and [5]"},
      {[](auto& net) { net.add_losses(std::array{net.input("x", {4})}); }, "scalars"},
  });
}

TEST(ModelBuilder, RefusesSizesThatDoNotFit64Bits) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  ModelBuilder net("tiny");
  EXPECT_THROW(net.input("x", {kHuge, 2}), Error);
  const Tensor x = net.input("x", {1, 1, 100'000, 100'000});
  EXPECT_THROW(net.conv2d(x, {.filters = kHuge / 1000}), Error);
}

}  // namespace
}  // namespace emplace::model_builder_test

// Layers of transformers against counts by hand.

#include "graphs/model_building.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::model_builder_attention_test {
namespace {

using test::op_of;
using testing::ElementsAre;

TEST(ModelBuilderAttention, LayerNormTouchesEachRowOnceAndLearnsTwoNumbersForEachColumn) {
  ModelBuilder net("tiny");
  const Tensor y = net.layer_norm(net.input("x", {2, 3, 5}));
  EXPECT_THAT(net.shape(y), ElementsAre(2, 3, 5));
  const OpGraph graph = std::move(net).finish();
  const Op& op = op_of(graph, y);
  EXPECT_THAT(op.shape, ElementsAre(6, 5));
  EXPECT_EQ(op.flops, 7 * 30);  // sum 1, sum of squares 2, normalization 2, scale and offset 2
  EXPECT_EQ(op.bytes_read, 4 * (30 + 10));
  EXPECT_EQ(op.bytes_written, 4 * (30 + 2 * 6));  // the result, and each row's statistics
  EXPECT_EQ(totals(graph).parameters, 10);
  EXPECT_EQ(op.persistent_bytes, 0);  // nothing moves on from batch to batch
}

TEST(ModelBuilderAttention, RmsNormHasNoMeanAndNoOffset) {
  ModelBuilder net("tiny");
  const Tensor y = net.rms_norm(net.input("x", {2, 3, 5}));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, y).flops, 4 * 30);  // sum of squares 2, and two products
  EXPECT_EQ(op_of(graph, y).bytes_written, 4 * (30 + 6));
  EXPECT_EQ(totals(graph).parameters, 5);
}

TEST(ModelBuilderAttention, ActivationsCountEachOperationOnANumber) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("x", {4, 6});
  const Tensor gelu = net.gelu(x);  // x (1 + erf(x / sqrt 2)) / 2
  const Tensor silu = net.silu(x);  // x sigmoid(x)
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, gelu).flops, 5 * 24);
  EXPECT_EQ(op_of(graph, silu).flops, 2 * 24);
  EXPECT_EQ(op_of(graph, silu).bytes_read, 4 * 24);
}

TEST(ModelBuilderAttention, ARotationMultipliesFourTimesForAPairAndReadsATable) {
  ModelBuilder net("tiny");
  const Tensor y = net.rotary_embedding(net.input("x", {2, 4, 3, 8}));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(2 * 4, 3, 8));
  // 96 pairs: (a cos - b sin, a sin + b cos).
  EXPECT_EQ(op_of(graph, y).flops, 96 * 6);
  // A cosine and a sine for each position and pair: 3 * 4 * 2 numbers.
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * (192 + 24));
}

TEST(ModelBuilderAttention, MasksAndShiftsKeepTheShape) {
  ModelBuilder net("tiny");
  const Tensor scores = net.input("scores", {2, 4, 3, 5});
  const Tensor masked = net.causal_mask(scores);
  const Tensor shifted = net.relative_shift(scores);
  EXPECT_EQ(net.shape(masked), net.shape(scores));
  EXPECT_EQ(net.shape(shifted), net.shape(scores));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, masked).flops, 120);
  EXPECT_EQ(op_of(graph, shifted).flops, 0);
  EXPECT_EQ(op_of(graph, shifted).bytes_written, 4 * 120);
}

TEST(ModelBuilderAttention, ASliceReadsWhatItTakes) {
  ModelBuilder net("tiny");
  const Tensor y = net.slice(net.input("x", {4, 10, 6}), {4, 1, 6});
  EXPECT_THAT(net.shape(y), ElementsAre(4, 1, 6));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(24, 240));
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * 24);
  EXPECT_EQ(op_of(graph, y).bytes_written, 4 * 24);
}

TEST(ModelBuilderAttention, ABroadcastWritesEveryCopy) {
  ModelBuilder net("tiny");
  const Tensor y = net.broadcast(net.variable("token", {1, 6}), 7);
  EXPECT_THAT(net.shape(y), ElementsAre(7, 1, 6));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * 6);
  EXPECT_EQ(op_of(graph, y).bytes_written, 4 * 42);
}

TEST(ModelBuilderAttention, VariablesAndWhatIsMadeFromThemMayBeOfAShorterType) {
  ModelBuilder net("tiny", "", DataType::kBfloat16);
  const Tensor table = net.variable("table", {10, 6});
  const Tensor x = net.embedding(table, net.input("ids", {4}, DataType::kInt32));
  const Tensor y = net.dense(net.layer_norm(x), 3);
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, table).persistent_bytes, 2 * 60);
  EXPECT_EQ(op_of(graph, y).outputs[0].type, DataType::kBfloat16);
  EXPECT_EQ(op_of(graph, y).outputs[0].bytes, 2 * 4 * 3);
}

TEST(ModelBuilderAttention, ShapesThatDoNotFitAreRefused) {
  test::expect_refused({
      {[](auto& net) { net.layer_norm(net.input("x", {})); }, "scalar"},
      {[](auto& net) {
         net.rotary_embedding(net.input("x", {4, 5}));
       },
       "even"},
      {[](auto& net) { net.causal_mask(net.input("x", {4})); }, "queries"},
      {[](auto& net) { net.relative_shift(net.input("x", {4})); }, "distances"},
      {[](auto& net) {
         net.slice(net.input("x", {4, 5}), {4, 6});
       },
       "block"},
      {[](auto& net) {
         net.slice(net.input("x", {4, 5}), {4});
       },
       "block"},
      {[](auto& net) { net.broadcast(net.input("x", {4}), 0); }, "at least 1"},
  });
}

}  // namespace
}  // namespace emplace::model_builder_attention_test

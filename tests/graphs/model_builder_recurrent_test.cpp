#include "graphs/model_building.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::model_builder_recurrent_test {
namespace {

using test::op_of;
using testing::ElementsAre;

TEST(ModelBuilderRecurrent, AnEmbeddingReadsTheRowsThatAreLookedUp) {
  ModelBuilder net("tiny");
  const Tensor table = net.variable("table", {1000, 16});
  const Tensor y = net.embedding(table, net.input("ids", {5, 2}, DataType::kInt32));
  EXPECT_THAT(net.shape(y), ElementsAre(5, 2, 16));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(10, 1000, 16));
  EXPECT_EQ(op_of(graph, y).bytes_read, 4 * 10 * 16 + 4 * 10);  // rows and ids
  EXPECT_EQ(op_of(graph, y).bytes_written, 4 * 10 * 16);
  EXPECT_EQ(op_of(graph, y).flops, 0);
  EXPECT_EQ(totals(graph).parameters, 16'000);
}

TEST(ModelBuilderRecurrent, AnLstmCellIsOneProductWithItsGates) {
  ModelBuilder net("tiny");
  const Tensor zero = net.input("zero", {4, 5});
  const Tensor weights = net.variable("weights", {3 + 5, 20});
  const Tensor bias = net.variable("bias", {20});
  const LstmState state =
      net.lstm_cell(net.input("x", {4, 3}), {.h = zero, .c = zero}, weights, bias);
  EXPECT_THAT(net.shape(state.h), ElementsAre(4, 5));
  EXPECT_THAT(net.shape(state.c), ElementsAre(4, 5));
  const OpGraph graph = std::move(net).finish();
  const Op& cell = op_of(graph, state.h);
  EXPECT_THAT(cell.shape, ElementsAre(4, 3, 5));
  // Per number of the state: a bias and an activation for each of the 4 gates; f c, i g and their
  // sum; tanh(c) and its product with o.
  EXPECT_EQ(cell.flops, 2 * 4 * (3 + 5) * 20 + (4 + 4 + 3 + 2) * 4 * 5);
  ASSERT_EQ(cell.outputs.size(), 3U);
  EXPECT_THAT(cell.outputs[2].shape, ElementsAre(4, 20));
  EXPECT_EQ(cell.bytes_read, 4 * (4 * 3 + 2 * 4 * 5 + 8 * 20 + 20));
  EXPECT_EQ(cell.bytes_written, 4 * (2 * 4 * 5 + 4 * 20));
  EXPECT_EQ(totals(graph).parameters, 4 * (3 + 5 + 1) * 5);
}

// An unrolled layer: were all its cells tied to the weights, they could only be placed together.
TEST(ModelBuilderRecurrent, AVariableSharesTheDeviceOfItsFirstReaderOnly) {
  ModelBuilder net("unrolled");
  const Tensor weights = net.variable("weights", {10, 20});
  const Tensor bias = net.variable("bias", {20});
  const Tensor zero = net.input("zero", {4, 5});
  LstmState state{.h = zero, .c = zero};
  for (int step = 0; step < 2; ++step) {
    state = net.lstm_cell(net.input("x", {4, 5}), state, weights, bias);
  }
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, weights).name, "weights");
  EXPECT_EQ(op_of(graph, weights).colocation, "weights");
  EXPECT_EQ(op_of(graph, bias).colocation, "weights");  // both are read by the first cell
  EXPECT_EQ(graph[4].kind, "lstm_cell");
  EXPECT_EQ(graph[4].colocation, "weights");
  EXPECT_EQ(op_of(graph, state.h).colocation, "");
}

TEST(ModelBuilderRecurrent, RefusesShapesThatDoNotFit) {
  const auto cell = [](ModelBuilder& net, std::int64_t rows, std::int64_t inputs) {
    const Tensor state = net.input("state", {4, 5});
    net.lstm_cell(net.input("x", {rows, inputs}), {.h = state, .c = state},
                  net.input("weights", {8, 20}), net.input("bias", {20}));
  };
  test::expect_refused({
      {[](auto& net) { net.embedding(net.input("table", {10}), net.input("ids", {2})); },
       "a table [vocabulary, width] and integers, found [10] and float32"},
      {[](auto& net) {
         net.embedding(net.input("table", {10, 2}), net.input("ids", {2}, DataType::kBool));
       },
       "found [10, 2] and bool"},
      {[&](auto& net) { cell(net, 2, 3); }, "found [2, 3], [4, 5] and [4, 5]"},
      {[&](auto& net) { cell(net, 4, 9); },
       "weights [14, 20] and bias [20], found [8, 20] and [20]"},
      {[](auto& net) {
         net.variable("w", {2, 0});
       },
       "'here/w': expected dimensions of at least 1"},
  });
}

}  // namespace
}  // namespace emplace::model_builder_recurrent_test

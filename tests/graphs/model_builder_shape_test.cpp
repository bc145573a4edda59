#include "graphs/model_building.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace emplace::model_builder_shape_test {
namespace {

using test::op_of;
using testing::ElementsAre;

TEST(ModelBuilderShape, ConcatJoinsAlongAnyAxis) {
  ModelBuilder net("tiny");
  const std::array parts{net.input("a", {2, 3, 4}), net.input("b", {2, 3, 1})};
  const Tensor y = net.concat(parts, 2);
  EXPECT_THAT(net.shape(y), ElementsAre(2, 3, 5));
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, y).shape, ElementsAre(2, 30));  // parts, elements
}

TEST(ModelBuilderShape, SplitCutsInEqualPartsThatAreOutputsOfOneOp) {
  ModelBuilder net("tiny");
  const auto parts = net.split(net.input("x", {6, 4}), 3, 0);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(net.shape(parts[2]), ElementsAre(2, 4));
  EXPECT_EQ(parts[0].op, parts[2].op);
  EXPECT_EQ(parts[2].output, 2);
  const OpGraph graph = std::move(net).finish();
  EXPECT_THAT(op_of(graph, parts[0]).shape, ElementsAre(3, 24));
  EXPECT_EQ(op_of(graph, parts[0]).bytes_read, 4 * 24);
  EXPECT_EQ(op_of(graph, parts[0]).bytes_written, 4 * 24);
  EXPECT_EQ(op_of(graph, parts[0]).flops, 0);
}

TEST(ModelBuilderShape, AReshapeMovesNothingAndATransposeMovesAll) {
  ModelBuilder net("tiny");
  const Tensor x = net.input("x", {2, 3, 4});
  const Tensor heads = net.reshape(x, {2, 3, 2, 2});
  const Tensor moved = net.transpose(heads, std::array<std::size_t, 4>{0, 2, 1, 3});
  EXPECT_THAT(net.shape(moved), ElementsAre(2, 2, 3, 2));
  const OpGraph graph = std::move(net).finish();
  EXPECT_EQ(op_of(graph, heads).bytes_read + op_of(graph, heads).bytes_written, 0);
  EXPECT_THAT(op_of(graph, moved).shape, ElementsAre(2, 3, 2, 2, 0, 2, 1, 3));
  EXPECT_EQ(op_of(graph, moved).bytes_read, 4 * 24);
  EXPECT_EQ(op_of(graph, moved).bytes_written, 4 * 24);
}

TEST(ModelBuilderShape, RefusesShapesThatDoNotFit) {
  test::expect_refused({
      {[](auto& net) {
         net.concat(std::array{net.input("x", {2, 3})}, 2);
       },
       "an axis 2, found [2, 3]"},
      {[](auto& net) {
         net.split(net.input("x", {2, 3}), 2, 1);
       },
       "[2, 3] in 2 equal parts along axis 1"},
      {[](auto& net) {
         net.split(net.input("x", {2, 3}), 0, 1);
       },
       "in 0 equal parts"},
      {[](auto& net) {
         net.split(net.input("x", {2, 3}), 1, 2);
       },
       "along axis 2"},
      {[](auto& net) {
         net.reshape(net.input("x", {2, 3}), {4, 2});
       },
       "cannot reshape [2, 3] to [4, 2]"},
      {[](auto& net) {
         net.reshape(net.input("x", {2, 3}), {-2, -3});
       },
       "at least 1"},
      {[](auto& net) { net.flatten(net.input("x", {})); }, "a scalar"},
      {[](auto& net) {
         net.transpose(net.input("x", {2, 3}), std::array<std::size_t, 2>{1, 1});
       },
       "cannot reorder the axes of [2, 3] as [1, 1]"},
  });
}

}  // namespace
}  // namespace emplace::model_builder_shape_test

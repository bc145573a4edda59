#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/micro_batches.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/optimizer.hpp>
#include <emplace/graphs/repeated_steps.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/graphs.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace emplace::repeated_steps_test {
namespace {

using test::find;
using test::inputs_of;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr std::int64_t kWeightBytes = 4 * (4 * 3 + 3);
constexpr std::int64_t kSlotBytes = kWeightBytes;  // of momentum

OpGraph inference() {
  ModelBuilder net("small");
  net.softmax_cross_entropy(net.dense(net.input("x", {2, 4}), 3),
                            net.input("labels", {2}, DataType::kInt32));
  return std::move(net).finish();
}

OpGraph training() { return training_graph(inference(), find_optimizer("momentum")); }

OpGraph in_two_micro_batches() {
  const OpGraph part = training();
  return micro_batches(part, std::vector<std::reference_wrapper<const OpGraph>>(2, part));
}

TEST(RepeatedSteps, AreCopiesOneAfterTheOther) {
  const OpGraph step = training();
  const OpGraph graph = repeated_steps(step, 3, 1);
  ASSERT_EQ(num_ops(graph), 3 * num_ops(step));
  for (OpId op = 0; op < num_ops(step); ++op) {
    EXPECT_EQ(graph[index_of(op)].name, step[index_of(op)].name);
    EXPECT_EQ(graph[index_of(2 * num_ops(step) + op)].name, step[index_of(op)].name + "~2");
  }
  EXPECT_THAT(inputs_of(graph, "matmul~2"), ElementsAre("x~2:0", "matmul/weights~2:0"));
  EXPECT_EQ(totals(graph).flops, 3 * totals(step).flops);
  EXPECT_EQ(totals(graph).parameters, totals(step).parameters);
}

TEST(RepeatedSteps, ReadTheWeightsThatTheLastStepNotInFlightLeft) {
  const OpGraph one = repeated_steps(training(), 3, 1);
  EXPECT_THAT(inputs_of(one, "matmul/weights"), ElementsAre());
  EXPECT_THAT(inputs_of(one, "matmul/weights~1"), ElementsAre("matmul/weights/update:-1"));
  EXPECT_THAT(inputs_of(one, "matmul/weights~2"), ElementsAre("matmul/weights/update~1:-1"));
  const OpGraph two = repeated_steps(training(), 3, 2);
  EXPECT_THAT(inputs_of(two, "matmul/weights~1"), ElementsAre());
  EXPECT_THAT(inputs_of(two, "matmul/weights~2"), ElementsAre("matmul/weights/update:-1"));
}

TEST(RepeatedSteps, BeginWhenThatOneHasEnded) {
  const OpGraph trains = repeated_steps(training(), 3, 2);
  EXPECT_THAT(inputs_of(trains, "x~1"), ElementsAre());
  EXPECT_THAT(inputs_of(trains, "x~2"),
              UnorderedElementsAre("matmul/weights/update:-1", "bias_add/bias/update:-1"));
  const OpGraph infers = repeated_steps(inference(), 3, 2);
  EXPECT_THAT(inputs_of(infers, "x~1"), ElementsAre());
  EXPECT_THAT(inputs_of(infers, "x~2"), ElementsAre("softmax_cross_entropy:-1"));
  EXPECT_THAT(inputs_of(infers, "labels~2"), ElementsAre("softmax_cross_entropy:-1"));
}

TEST(RepeatedSteps, ReadWhatNoStepUpdatesFromTheFirst) {
  EXPECT_THAT(inputs_of(repeated_steps(inference(), 3, 2), "matmul~2"),
              ElementsAre("x~2:0", "matmul/weights:0"));
}

TEST(RepeatedSteps, KeepAVersionOfTheWeightsForEachInFlight) {
  for (const std::int64_t in_flight : {1, 2, 5}) {
    EXPECT_EQ(totals(repeated_steps(training(), 8, in_flight)).persistent_bytes,
              in_flight * kWeightBytes + kSlotBytes);
    EXPECT_EQ(totals(repeated_steps(inference(), 8, in_flight)).persistent_bytes, kWeightBytes);
  }
}

TEST(RepeatedSteps, GoOnCountingMicroBatches) {
  EXPECT_EQ(num_micro_batches(training()), 1);
  const OpGraph step = in_two_micro_batches();
  EXPECT_EQ(num_micro_batches(step), 2);
  const OpGraph graph = repeated_steps(step, 2, 1);
  EXPECT_EQ(num_micro_batches(graph), 4);
  EXPECT_EQ(find(graph, "matmul#1").micro_batch, 1);
  EXPECT_EQ(find(graph, "matmul~1").micro_batch, 2);
  EXPECT_EQ(find(graph, "matmul#1~1").micro_batch, 3);
}

TEST(RepeatedSteps, HaveADeviceForAllCopiesOfAnOp) {
  const OpGraph graph = repeated_steps(training(), 2, 1);
  EXPECT_EQ(find(graph, "matmul~1").colocation, find(graph, "matmul").colocation);
  EXPECT_NE(find(graph, "matmul").colocation, "");
}

TEST(RepeatedSteps, HavePriorityInTheirOrder) {
  const OpGraph step = in_two_micro_batches();
  const OpGraph graph = repeated_steps(step, 3, 3);
  for (OpId a = 0; a < num_ops(step); ++a) {
    for (OpId b = 0; b < num_ops(step); ++b) {
      const auto priority = [&](OpId op, OpId of_step) {
        return graph[index_of(of_step * num_ops(step) + op)].priority;
      };
      ASSERT_GT(priority(a, 0), priority(b, 1));
      ASSERT_EQ(priority(a, 1) < priority(b, 1),
                step[index_of(a)].priority < step[index_of(b)].priority);
    }
  }
}

TEST(RepeatedSteps, AreRefusedWhereNumbersOverflow) {
  OpGraph step = inference();
  step[0].priority = std::numeric_limits<std::int32_t>::max() / 4;
  const std::string text =
      test::error_of(ErrorCode::kUnsupported, [&] { repeated_steps(step, 8, 1); });
  EXPECT_EQ(text, "graph 'small': 8 steps with 536870912 priorities each are too many");
}

TEST(RepeatedSteps, AreRefusedWhereTheyFillTheMemory) {
  const OpGraph step = inference();
  const std::string text =
      test::error_of(ErrorCode::kUnsupported, [&] { repeated_steps(step, 1'000'000, 1); });
  EXPECT_EQ(text, fmt::format("graph 'small': 1000000 steps with {} ops each are too many",
                              num_ops(step)));
}

}  // namespace
}  // namespace emplace::repeated_steps_test

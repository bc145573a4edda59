// Rule 4 of the `physical` engine (docs/concepts/simulation.md), memory, as worked examples.

#include "support/machines.hpp"

#include <emplace/sim/memory_curve.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace {

// Found by gtest through the namespace.
static std::ostream& operator<<(std::ostream& out, const MemoryPoint& point) {
  return out << "{" << point.at_us << ", " << point.bytes << "}";
}

namespace {

using test::bus;
using test::chain_graph;
using test::make_graph;
using test::make_machine;
using test::make_problem;

using Curve = std::vector<MemoryPoint>;

// 100 bytes take 10 us.
Topology wire() { return bus(2, {.bytes_per_us = 10}); }

struct Step {
  Problem problem;
  StepRecord record;

  Step(OpGraph graph, std::vector<DeviceId> placement, const test::MachineSketch& sketch = {})
      : problem(make_problem(std::move(graph), make_machine(2, wire(), sketch))),
        record(Simulator(problem).record(Placement(std::move(placement)))) {}

  Curve curve(DeviceId device) const { return memory_curve(problem, record, device); }
};

TEST(PhysicalMemory, AnOutputLivesFromItsOpsStartToTheEndOfItsLastReader) {
  // a 0 to 5, b 5 to 12, c 12 to 23, each with an output of 100 bytes: a's is freed at 12, before
  // c's is taken, and c's, which no op reads, at c's end.
  const Step step(chain_graph({5, 7, 11}, 100), {0, 0, 0});
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {5, 200}, {12, 100}, {12, 200}, {23, 0}}));
  EXPECT_EQ(step.record.peak_bytes, (std::vector<std::int64_t>{200, 0}));
}

TEST(PhysicalMemory, AnOutputThatIsSentLivesUntilItHasArrived) {
  // a 0 to 5; its 100 bytes travel from 5 to 15; b 15 to 22.
  const Step step(chain_graph({5, 7}, 100), {0, 1});
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {15, 0}}));
  // The copy is there from the transfer's start; b's own output from b's start.
  EXPECT_EQ(step.curve(1), (Curve{{0, 0}, {5, 100}, {15, 200}, {22, 0}}));
  EXPECT_EQ(step.record.peak_bytes, (std::vector<std::int64_t>{100, 200}));
}

TEST(PhysicalMemory, AnOutputThatIsSentAndReadAtHomeWaitsForBoth) {
  // a 0 to 5, sent from 5 to 15, read at home from 5 to 25.
  const Step step(make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100},
                              {.name = "near", .cost_us = 20, .producers = {0}},
                              {.name = "far", .cost_us = 1, .producers = {0}}}),
                  {0, 0, 1});
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {25, 0}}));
  EXPECT_EQ(step.curve(1), (Curve{{0, 0}, {5, 100}, {16, 0}}));
}

TEST(PhysicalMemory, ACopyLivesUntilItsLastReaderHasEnded) {
  // One copy for two readers, which run from 15 to 16 and from 16 to 18.
  const Step step(make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100},
                              {.name = "b", .cost_us = 1, .producers = {0}},
                              {.name = "c", .cost_us = 2, .producers = {0}}}),
                  {0, 1, 1});
  EXPECT_EQ(step.curve(1), (Curve{{0, 0}, {5, 100}, {18, 0}}));
}

TEST(PhysicalMemory, AViewIsInTheMemoryOfItsInput) {
  // a 0 to 5; b, a view, at 5; c 5 to 16 reads b; d 16 to 20 reads c.
  OpGraph graph = chain_graph({5, 0, 11, 4}, 100);
  graph[1].kind = "reshape";
  const Step step(std::move(graph), {0, 0, 0, 0});
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {5, 200}, {16, 100}, {16, 200}, {20, 0}}));
}

TEST(PhysicalMemory, AViewKeepsItsInputAndAnInputItself) {
  // c, 16 to 19, reads the view b; d, 5 to 16, reads a: the 100 bytes stay until 19.
  OpGraph graph = make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100},
                              {.name = "b", .output_bytes = 100, .producers = {0}},
                              {.name = "d", .cost_us = 11, .producers = {0}},
                              {.name = "c", .cost_us = 3, .producers = {1, 2}}});
  graph[1].kind = "reshape";
  const Step step(std::move(graph), {0, 0, 0, 0});
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {19, 0}}));
}

TEST(PhysicalMemory, AViewOfACopyKeepsTheCopy) {
  // a 0 to 5 on one device, its copy on the other from 5 on, the view b at 15, c 15 to 22.
  OpGraph graph = chain_graph({5, 0, 7}, 100);
  graph[1].kind = "reshape";
  graph[2].outputs[0].bytes = 0;
  const Step step(std::move(graph), {0, 1, 1});
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {15, 0}}));
  EXPECT_EQ(step.curve(1), (Curve{{0, 0}, {5, 100}, {22, 0}}));
}

TEST(PhysicalMemory, OfAnotherSizeNothingIsAView) {
  OpGraph graph = chain_graph({5, 0, 7}, 100);
  graph[1].kind = "reshape";
  graph[1].outputs[0].bytes = 60;
  const Step step(std::move(graph), {0, 0, 0});
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {5, 0}, {5, 160}, {12, 0}}));
}

TEST(PhysicalMemory, AnOpInPlaceWritesOverAnInputThatNothingElseReads) {
  // a 0 to 5, b 5 to 12 in a's memory, c 12 to 23 in its own.
  OpGraph graph = chain_graph({5, 7, 11}, 100);
  graph[1].kind = "relu";
  const Step step(std::move(graph), {0, 0, 0});
  EXPECT_EQ(step.record.peak_bytes, (std::vector<std::int64_t>{200, 0}));
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {5, 0}, {5, 100}, {12, 200}, {23, 0}}));
}

TEST(PhysicalMemory, AnOpInPlaceKeepsWhatIsReadLater) {
  // a is read by the relu, 5 to 12, and by its gradient's stand-in, 12 to 15.
  OpGraph graph = make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100},
                              {.name = "b", .cost_us = 7, .output_bytes = 100, .producers = {0}},
                              {.name = "c", .cost_us = 3, .producers = {0, 1}}});
  graph[1].kind = "relu";
  const Step step(std::move(graph), {0, 0, 0});
  EXPECT_EQ(step.record.peak_bytes, (std::vector<std::int64_t>{200, 0}));
}

TEST(PhysicalMemory, WeightsAreNotWrittenOver) {
  OpGraph graph = make_graph({{.name = "weights", .output_bytes = 40, .persistent_bytes = 40},
                              {.name = "b", .cost_us = 1, .output_bytes = 40, .producers = {0}}});
  graph[0].outputs[0].persistent = true;
  graph[1].kind = "scale";
  const Step step(std::move(graph), {0, 0});
  EXPECT_EQ(step.record.peak_bytes[0], 80);
}

TEST(PhysicalMemory, OnlyOneOfTwoInputsIsWrittenOver) {
  // a and b, 100 bytes each, in two slots; their sum is in a's memory.
  OpGraph graph =
      make_graph({{.name = "a", .cost_us = 5, .output_bytes = 100},
                  {.name = "b", .cost_us = 5, .output_bytes = 100},
                  {.name = "c", .cost_us = 3, .output_bytes = 100, .producers = {0, 1}}});
  graph[2].kind = "add";
  const Step step(std::move(graph), {0, 0, 0}, {.slots = 2});
  EXPECT_EQ(step.record.peak_bytes[0], 200);
}

TEST(PhysicalMemory, AWorkspaceLivesWhileItsOpRuns) {
  OpGraph graph = chain_graph({5, 7}, 0);
  graph[1].workspace_bytes = 300;
  const Step step(std::move(graph), {0, 0}, {.launch_us = 1});
  // b 6 to 14, its launch included.
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {6, 300}, {14, 0}}));
}

TEST(PhysicalMemory, WeightsTakeMemoryForTheWholeStep) {
  OpGraph graph = make_graph({{.name = "weights", .output_bytes = 40, .persistent_bytes = 70},
                              {.name = "b", .output_bytes = 10}});
  graph[0].outputs[0].persistent = true;  // the value is the weights, and counted there
  const Step step(std::move(graph), {0, 1});
  EXPECT_EQ(step.curve(0), (Curve{{0, 70}}));
  EXPECT_EQ(step.record.peak_bytes, (std::vector<std::int64_t>{70, 10}));
}

TEST(PhysicalMemory, ACopyOfWeightsTakesMemory) {
  OpGraph graph = make_graph({{.name = "weights", .output_bytes = 40, .persistent_bytes = 70},
                              {.name = "b", .cost_us = 1, .producers = {0}}});
  graph[0].outputs[0].persistent = true;
  const Step step(std::move(graph), {0, 1});
  EXPECT_EQ(step.curve(1), (Curve{{0, 0}, {1, 40}, {6, 0}}));
}

TEST(PhysicalMemory, FreesOfOneInstantComeBeforeAllocations) {
  // At 5, a ends and frees its 100 bytes of workspace; b takes its own 100: never 200.
  OpGraph graph = chain_graph({5, 5}, 0);
  graph[0].workspace_bytes = 100;
  graph[1].workspace_bytes = 100;
  const Step step(std::move(graph), {0, 0}, {.memory_bytes = 100});
  EXPECT_EQ(step.record.peak_bytes[0], 100);
  EXPECT_EQ(step.record.status, StepStatus::kOk);
  EXPECT_FALSE(first_overflow(step.problem, step.record).has_value());
}

TEST(PhysicalMemory, WhatIsTakenAndFreedAtOnceTakesNothing) {
  // b costs nothing: at 5 a's output is freed, b's taken; b's workspace comes and goes at once.
  OpGraph graph = chain_graph({5, 0, 5}, 100);
  graph[1].workspace_bytes = 1000;
  const Step step(std::move(graph), {0, 0, 0}, {.memory_bytes = 200});
  EXPECT_EQ(step.curve(0), (Curve{{0, 0}, {0, 100}, {5, 0}, {5, 200}, {10, 0}}));
  EXPECT_EQ(step.record.peak_bytes[0], 200);
  EXPECT_EQ(step.record.status, StepStatus::kOk);
}

// Three ops that run at once in three slots and take 60, 50 and 40 bytes, on a device of 100 with
// 10 bytes of weights; before them, one of 5 us that takes nothing.
OpGraph crowd() {
  OpGraph graph = make_graph({{.name = "before", .cost_us = 5, .persistent_bytes = 10},
                              {.name = "a", .cost_us = 10, .output_bytes = 60, .producers = {0}},
                              {.name = "b", .cost_us = 10, .producers = {0}},
                              {.name = "c", .cost_us = 10, .output_bytes = 40, .producers = {0}},
                              {.name = "after", .cost_us = 1, .producers = {1, 2, 3}}});
  graph[2].workspace_bytes = 50;
  return graph;
}

TEST(PhysicalMemory, AnOverflowSaysWhereWhenHowMuchAndWhatWasThere) {
  const Step step(crowd(), {0, 0, 0, 0, 0}, {.slots = 3, .memory_bytes = 100});
  EXPECT_EQ(step.record.status, StepStatus::kOutOfMemory);
  EXPECT_EQ(step.record.peak_bytes[0], 160);
  EXPECT_EQ(step.record.bytes_over, 60);
  EXPECT_EQ(step.record.worst_device, 0);
  EXPECT_DOUBLE_EQ(step.record.makespan_us, 16);  // the time is computed all the same
  const auto overflow = first_overflow(step.problem, step.record, 2);
  ASSERT_TRUE(overflow.has_value());
  EXPECT_EQ(overflow->device, 0);
  EXPECT_DOUBLE_EQ(overflow->at_us, 5);
  EXPECT_EQ(overflow->bytes_over, 60);
  EXPECT_EQ(overflow->persistent_bytes, 10);
  ASSERT_EQ(overflow->largest.size(), 2u);
  EXPECT_EQ(overflow->largest[0].op, 1);
  EXPECT_EQ(overflow->largest[0].kind, Allocation::Kind::kOutput);
  EXPECT_EQ(overflow->largest[1].op, 2);
  EXPECT_EQ(overflow->largest[1].kind, Allocation::Kind::kWorkspace);
  EXPECT_EQ(overflow->other_bytes, 40);
}

TEST(PhysicalMemory, WeightsAloneCanBeTooMuch) {
  const Step step(make_graph({{.name = "a", .cost_us = 5, .persistent_bytes = 170}}), {1},
                  {.memory_bytes = 100});
  EXPECT_EQ(step.record.status, StepStatus::kOutOfMemory);
  const auto overflow = first_overflow(step.problem, step.record);
  ASSERT_TRUE(overflow.has_value());
  EXPECT_EQ(overflow->device, 1);
  EXPECT_EQ(overflow->bytes_over, 70);
  EXPECT_EQ(overflow->persistent_bytes, 170);
  EXPECT_TRUE(overflow->largest.empty());
}

TEST(PhysicalMemory, ACopyCanBeTooMuch) {
  // b's 80 bytes are there when the copy of a's 60 is taken at 5.
  const Step step(make_graph({{.name = "a", .cost_us = 5, .output_bytes = 60},
                              {.name = "b", .cost_us = 20, .output_bytes = 80},
                              {.name = "c", .producers = {0, 1}}}),
                  {0, 1, 1}, {.memory_bytes = 100});
  EXPECT_EQ(step.record.worst_device, 1);
  EXPECT_EQ(step.record.bytes_over, 40);
  const auto overflow = first_overflow(step.problem, step.record);
  ASSERT_TRUE(overflow.has_value());
  EXPECT_DOUBLE_EQ(overflow->at_us, 5);
}

}  // namespace
}  // namespace emplace

#include "profiles/calibrate/src/steps/execution_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::calibrate::execution_plan_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Op relu(const char* name, std::int64_t bytes) {
  return {.name = name, .kind = "relu", .outputs = {{.shape = {bytes / 4}, .bytes = bytes}}};
}

// a feeds b and c; b feeds c too.
OpGraph triangle() {
  OpGraph graph;
  boost::add_vertex(relu("a", 400), graph);
  boost::add_vertex(relu("b", 400), graph);
  boost::add_vertex(relu("c", 400), graph);
  add_dependency(graph, 0, 0, 1);
  add_dependency(graph, 0, 0, 2);
  add_dependency(graph, 1, 0, 2);
  return graph;
}

constexpr OpId kOrder[] = {0, 1, 2};

TEST(ExecutionPlan, OfOneDeviceIsItsOpsInOrder) {
  const DeviceId device_of[] = {0, 0, 0};
  const ExecutionPlan plan = plan_step(triangle(), device_of, 1, kOrder);
  ASSERT_EQ(plan.items.size(), 3);
  for (OpId op = 0; op < 3; ++op) {
    const WorkItem& item = plan.items[index_of(op)];
    EXPECT_EQ(item.kind, WorkItem::Kind::kRun);
    EXPECT_EQ(item.op, op);
    EXPECT_EQ(item.queue, 0);
    EXPECT_THAT(item.after, IsEmpty());  // the queue is in order
  }
  EXPECT_EQ(plan.items[2].inputs[0].offset, plan.items[0].outputs[0].offset);
  EXPECT_EQ(plan.items[2].inputs[1].offset, plan.items[1].outputs[0].offset);
  EXPECT_THAT(plan.memory_bytes, ElementsAre(3 * 512));  // all three live when c runs
}

TEST(ExecutionPlan, CopiesAnOutputOnceToEachDeviceThatReadsIt) {
  const DeviceId device_of[] = {0, 1, 1};
  const ExecutionPlan plan = plan_step(triangle(), device_of, 2, kOrder);
  // a on device 0, one copy of it, then b and c on device 1.
  ASSERT_EQ(plan.items.size(), 4);
  const WorkItem& copy = plan.items[1];
  EXPECT_EQ(copy.kind, WorkItem::Kind::kCopy);
  EXPECT_EQ(copy.bytes, 400);
  EXPECT_THAT(copy.after, ElementsAre(0));
  EXPECT_EQ(plan.queues[copy.queue].device, 0);
  EXPECT_EQ(plan.queues[copy.queue].to, 1);
  EXPECT_THAT(plan.items[2].after, ElementsAre(1));
  EXPECT_THAT(plan.items[3].after, ElementsAre(1));
  EXPECT_EQ(plan.items[3].inputs[0].offset, copy.outputs[0].offset);
  EXPECT_THAT(plan.memory_bytes, ElementsAre(512, 3 * 512));
}

TEST(ExecutionPlan, UsesMemoryAgainThatOnlyItsOwnDeviceRead) {
  // A chain of four: the fourth can have the place of the first or second.
  OpGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) {
    boost::add_vertex(relu(name, 400), graph);
  }
  for (OpId op = 0; op < 3; ++op) {
    add_dependency(graph, op, 0, op + 1);
  }
  const DeviceId device_of[] = {0, 0, 0, 0};
  const OpId order[] = {0, 1, 2, 3};
  EXPECT_THAT(plan_step(graph, device_of, 1, order).memory_bytes, ElementsAre(2 * 512));
}

TEST(ExecutionPlan, WaitsForControlPredecessorsOnOtherDevices) {
  OpGraph graph;
  boost::add_vertex(relu("a", 400), graph);
  boost::add_vertex(Op{.name = "n", .kind = "no_op"}, graph);
  boost::add_vertex(relu("b", 400), graph);
  add_dependency(graph, 0, Dependency::kControl, 1);
  add_dependency(graph, 1, Dependency::kControl, 2);
  const DeviceId device_of[] = {0, 0, 1};
  const ExecutionPlan plan = plan_step(graph, device_of, 2, kOrder);
  ASSERT_EQ(plan.items.size(), 2);  // the no_op does nothing, but hands the order on
  EXPECT_THAT(plan.items[1].after, ElementsAre(0));
}

TEST(ExecutionPlan, GivesAReshapeTheMemoryOfItsInput) {
  OpGraph graph;
  boost::add_vertex(relu("a", 400), graph);
  boost::add_vertex(
      Op{.name = "r", .kind = "reshape", .outputs = {{.shape = {10, 10}, .bytes = 400}}}, graph);
  boost::add_vertex(relu("b", 400), graph);
  add_dependency(graph, 0, 0, 1);
  add_dependency(graph, 1, 0, 2);
  const DeviceId device_of[] = {0, 0, 0};
  const ExecutionPlan plan = plan_step(graph, device_of, 1, kOrder);
  ASSERT_EQ(plan.items.size(), 2);
  EXPECT_EQ(plan.items[1].inputs[0].offset, plan.items[0].outputs[0].offset);
}

TEST(ExecutionPlan, GivesSlotsOfAnOptimizerMemoryOfTheirOwn) {
  OpGraph graph;
  boost::add_vertex(
      Op{.name = "u", .kind = "optimizer_update", .shape = {100, 1}, .persistent_bytes = 400},
      graph);
  boost::add_vertex(
      Op{.name = "v", .kind = "optimizer_update", .shape = {100, 1}, .persistent_bytes = 400},
      graph);
  const DeviceId device_of[] = {0, 0};
  const OpId order[] = {0, 1};
  const ExecutionPlan plan = plan_step(graph, device_of, 1, order);
  EXPECT_NE(plan.items[0].state.offset, plan.items[1].state.offset);
}

}  // namespace
}  // namespace emplace::calibrate::execution_plan_test

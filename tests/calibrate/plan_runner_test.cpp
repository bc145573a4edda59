#include "profiles/calibrate/src/steps/plan_runner.hpp"

#include "profiles/calibrate/src/steps/execution_plan.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <boost/range/iterator_range.hpp>
#include <calibrate/hashing_device.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace emplace::calibrate::plan_runner_test {
namespace {

using testing::HasSubstr;

// What every op should have hashed, sorted: an op that launches nothing hands its input on, or is
// there from the start, all zeros.
std::vector<Hash> expected_hashes(const OpGraph& graph) {
  std::vector<std::vector<Hash>> value(boost::num_vertices(graph));
  std::vector<Hash> hashes;
  for (const OpId op : topological_order(graph)) {
    const auto at = index_of(op);
    Hash hash = hash_of(graph[at]);
    std::vector<Hash> inputs;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(at, graph))) {
      if (const auto output = graph[edge].output; output != Dependency::kControl) {
        inputs.push_back(value[boost::source(edge, graph)][index_of(output)]);
        hash = mix(hash, inputs.back());
      }
    }
    const bool runs = launches(graph[at].kind);
    if (runs) {
      hashes.push_back(hash);
    }
    for (std::size_t i = 0; i < graph[at].outputs.size(); ++i) {
      const Hash made = runs ? mix(hash, i) : inputs.empty() ? 0 : inputs.front();
      value[at].push_back(graph[at].outputs[i].bytes >= 8 ? made : 0);
    }
  }
  std::ranges::sort(hashes);
  return hashes;
}

class RunsOfAPlan : public testing::TestWithParam<const char*> {};

TEST_P(RunsOfAPlan, GiveEveryOpWhatItReadsWhereverTheOpsAre) {
  const OpGraph graph = GraphCatalog::global().build(Spec::parse(GetParam()));
  const std::vector<Hash> expected = expected_hashes(graph);
  const std::vector<OpId> order = topological_order(graph);
  for (const std::int32_t num_devices : {1, 2, 3}) {
    HashingDevice devices[] = {HashingDevice("a"), HashingDevice("b"), HashingDevice("c")};
    std::vector<ComputeDevice*> used;
    for (std::int32_t i = 0; i < num_devices; ++i) {
      used.push_back(&devices[i]);
    }
    RandomStream random(7);
    std::vector<DeviceId> device_of;
    for (OpId op = 0; op < num_ops(graph); ++op) {
      device_of.push_back(static_cast<DeviceId>(random.below(index_of(num_devices))));
    }
    const ExecutionPlan plan = plan_step(graph, device_of, num_devices, order);
    PlanRunner runner(graph, plan, used);
    EXPECT_EQ(runner.run(1, 2).size(), 2);
    std::vector<Hash> hashes;
    for (const HashingDevice& device : devices) {
      hashes.insert(hashes.end(), device.log.hashes.begin(), device.log.hashes.end());
    }
    std::ranges::sort(hashes);
    std::vector<Hash> three_times;
    for (const Hash hash : expected) {
      three_times.insert(three_times.end(), 3, hash);
    }
    EXPECT_EQ(hashes, three_times) << num_devices;
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, RunsOfAPlan,
                         testing::Values("inception-v3:batch=1",
                                         "nmt:steps=3,batch=2,hidden=32,vocabulary=500",
                                         "moe-transformer:layers=2,batch=1,width=64,sequence=32"));

TEST(PlanRunner, CountsNoStepThatEndsAfterItWasStopped) {
  OpGraph graph;
  boost::add_vertex(Op{.name = "op", .kind = "relu"}, graph);
  HashingDevice device("cpu:0");
  ComputeDevice* const devices[] = {&device};
  const DeviceId device_of[] = {0};
  const OpId order[] = {0};
  const ExecutionPlan plan = plan_step(graph, device_of, 1, order);
  PlanRunner runner(graph, plan, devices);
  std::atomic<bool> stop{false};
  device.before_run = [&] { stop = device.log.hashes.size() == 4; };
  EXPECT_EQ(runner.run(2, 10, &stop).size(), 2);
  EXPECT_EQ(device.log.hashes.size(), 5);
  EXPECT_TRUE(runner.run(2, 10, &stop).empty());
  EXPECT_EQ(device.log.hashes.size(), 5);
}

TEST(PlanRunner, NamesTheOpThatNothingRuns) {
  OpGraph graph;
  boost::add_vertex(Op{.name = "strange_1", .kind = "strange"}, graph);
  HashingDevice device("cpu:0");
  device.unsupported = "strange";
  ComputeDevice* const devices[] = {&device};
  const DeviceId device_of[] = {0};
  const OpId order[] = {0};
  const ExecutionPlan plan = plan_step(graph, device_of, 1, order);
  try {
    PlanRunner(graph, plan, devices);
    FAIL();
  } catch (const DeviceFailure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("cpu:0: nothing runs op 'strange_1' of kind strange"));
  }
}

}  // namespace
}  // namespace emplace::calibrate::plan_runner_test

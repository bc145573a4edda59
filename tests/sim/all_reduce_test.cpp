// The ring all-reduce of replicas takes the time of its closed form.

#include "support/machines.hpp"

#include <emplace/graphs/replicas.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace emplace::all_reduce_test {
namespace {

constexpr double kBytesPerUs = 10;
constexpr double kLatencyUs = 2;

// A backward op that makes the gradient of `numbers` weights, and the update.
OpGraph step(std::int64_t numbers) {
  OpGraph graph = test::make_graph({{.name = "weights", .persistent_bytes = 4 * numbers},
                                    {.name = "gradient", .output_bytes = 4 * numbers},
                                    {.name = "update", .producers = {1, 0}}});
  graph[0].kind = "variable";
  graph[0].outputs[0].shape = {numbers};
  graph[1].phase = Phase::kBackward;
  graph[1].outputs[0].shape = {numbers};
  graph[2].phase = Phase::kUpdate;
  return graph;
}

// Runs replica r on device r, with ops that take no time.
double step_us(DeviceId num_replicas, std::int64_t numbers) {
  const OpGraph part = step(numbers);
  OpGraph graph = replicas(std::vector<std::reference_wrapper<const OpGraph>>(
      static_cast<std::size_t>(num_replicas), part));
  std::vector<DeviceId> devices;
  for (std::size_t op = 0; op < boost::num_vertices(graph); ++op) {
    graph[op].measured = {{.device_class = "test", .cost_us = 0}};
    devices.emplace_back(graph[op].replica);
  }
  const Link link{.bytes_per_us = kBytesPerUs, .latency_us = kLatencyUs};
  const Problem problem = test::make_problem(
      std::move(graph), test::make_machine(num_replicas, test::mesh(num_replicas, link)));
  return Simulator(problem).run(Placement(std::move(devices))).makespan_us;
}

class RingAllReduce : public testing::TestWithParam<int> {};

// Patarasuk and Yuan 2009: 2 (R - 1) steps, each of which moves an R-th of the bytes.
TEST_P(RingAllReduce, TakesTheTimeOfItsClosedForm) {
  const int count = GetParam();
  constexpr std::int64_t kNumbers = 840'000;  // 1 to 8 divide it
  EXPECT_NEAR(step_us(count, kNumbers),
              2.0 * (count - 1) * (4.0 * kNumbers / count / kBytesPerUs + kLatencyUs), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RingAllReduce, testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

}  // namespace
}  // namespace emplace::all_reduce_test

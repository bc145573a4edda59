#include "support/problems.hpp"

#include "support/small_problems.hpp"

#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace::test {
namespace {

constexpr double kSlowFactor = 2;
constexpr double kCpuFactor = 10;

std::size_t add_profile(Cluster& cluster, const std::string& device_class,
                        std::int64_t memory_bytes) {
  DeviceProfile profile;
  profile.name = device_class;
  profile.device_class = device_class;
  profile.peak_flops_per_us = 1;
  profile.memory_bytes_per_us = 1e12;
  profile.memory_bytes = memory_bytes;
  cluster.profiles.push_back(std::move(profile));
  return cluster.profiles.size() - 1;
}

}  // namespace

std::shared_ptr<const Cluster> make_cluster(const ClusterSketch& sketch) {
  auto cluster = std::make_shared<Cluster>();
  cluster->name = "test";
  cluster->placeto = {.gap_after_op_us = sketch.gap_after_op_us,
                      .gap_after_transfer_us = sketch.gap_after_transfer_us,
                      .bytes_per_us = sketch.bytes_per_us};
  const std::size_t gpu = add_profile(*cluster, "test", sketch.memory_bytes);
  for (DeviceId device = 0; device < sketch.num_devices; ++device) {
    cluster->devices.push_back({.name = fmt::format("gpu:{}", device), .profile = gpu});
  }
  if (sketch.with_slow_gpu) {
    const std::size_t slow = add_profile(*cluster, "slow-test", sketch.memory_bytes);
    cluster->devices.push_back({.name = "slow:0", .profile = slow});
  }
  if (sketch.with_cpu) {
    const std::size_t cpu = add_profile(*cluster, "cpu-test", 64 * kGigabyte);
    cluster->devices.push_back({.name = "cpu:0", .profile = cpu, .placeable = false});
  }
  return cluster;
}

OpGraph make_graph(const std::vector<OpSketch>& ops, std::string name) {
  OpGraph graph;
  graph[boost::graph_bundle].name = std::move(name);
  for (const OpSketch& sketch : ops) {
    Op op;
    op.name = sketch.name;
    op.kind = "test";
    op.scope = sketch.scope;
    op.persistent_bytes = sketch.persistent_bytes;
    op.outputs = {{.shape = {sketch.output_bytes}, .bytes = sketch.output_bytes}};
    op.measured = {{"test", sketch.cost_us},
                   {"slow-test", kSlowFactor * sketch.cost_us},
                   {"cpu-test", kCpuFactor * sketch.cost_us}};
    boost::add_vertex(std::move(op), graph);
  }
  for (std::size_t consumer = 0; consumer < ops.size(); ++consumer) {
    for (const OpId producer : ops[consumer].producers) {
      add_dependency(graph, producer, 0, static_cast<OpId>(consumer));
    }
  }
  return graph;
}

Problem make_problem(OpGraph graph, const ClusterSketch& sketch) {
  auto shared = std::make_shared<const OpGraph>(std::move(graph));
  Grouping grouping = ungrouped(*shared);
  return Problem(std::move(shared), std::move(grouping), make_cluster(sketch));
}

OpGraph chain_graph(const std::vector<double>& costs_us, std::int64_t bytes) {
  std::vector<OpSketch> ops;
  for (std::size_t i = 0; i < costs_us.size(); ++i) {
    ops.push_back({.name = fmt::format("op_{}", i), .cost_us = costs_us[i], .output_bytes = bytes});
    if (i > 0) {
      ops.back().producers = {static_cast<OpId>(i - 1)};
    }
  }
  return make_graph(ops, "chain");
}

OpGraph diamond_graph(std::int64_t bytes) {
  return make_graph({{.name = "a", .cost_us = 100, .output_bytes = bytes},
                     {.name = "b", .cost_us = 200, .output_bytes = bytes, .producers = {0}},
                     {.name = "c", .cost_us = 200, .output_bytes = bytes, .producers = {0}},
                     {.name = "d", .cost_us = 50, .producers = {1, 2}}},
                    "diamond");
}

OpGraph fork_join_graph(int width, std::int64_t bytes) {
  std::vector<OpSketch> ops{{.name = "source", .cost_us = 10, .output_bytes = bytes}};
  OpSketch sink{.name = "sink", .cost_us = 10};
  for (int i = 0; i < width; ++i) {
    sink.producers.push_back(static_cast<OpId>(ops.size()));
    ops.push_back({.name = fmt::format("branch_{}", i),
                   .cost_us = 100,
                   .output_bytes = bytes,
                   .producers = {0},
                   .scope = fmt::format("block/branch_{}", i)});
  }
  ops.push_back(std::move(sink));
  return make_graph(ops, "fork-join");
}

OpGraph crossing_graph() {
  return make_graph({{.name = "a", .cost_us = 50, .output_bytes = 30},
                     {.name = "b", .cost_us = 70, .output_bytes = 60, .producers = {0}},
                     {.name = "c", .cost_us = 40, .output_bytes = 20},
                     {.name = "d", .cost_us = 90, .output_bytes = 10, .producers = {2}},
                     {.name = "e", .cost_us = 60, .output_bytes = 50, .producers = {1, 2}},
                     {.name = "f", .cost_us = 80, .output_bytes = 25, .producers = {3}},
                     {.name = "g", .cost_us = 30, .producers = {4, 5}}});
}

double optimum_us(const Problem& problem) {
  Simulator simulator(problem);
  double best_us = std::numeric_limits<double>::infinity();
  for_each_placement(problem, [&](const Placement& placement) {
    best_us = std::min(best_us, simulator.run(placement).makespan_us);
  });
  return best_us;
}

}  // namespace emplace::test

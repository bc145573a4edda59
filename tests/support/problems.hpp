#pragma once

// Small problems for tests, with round numbers that a reader can check by hand: op costs are given
// in the graph (device class "test"), a link moves `bytes_per_us` and nothing rests unless a test
// says so.

#include <emplace/graphs/op_graph.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/problem.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace emplace::test {

/// Memory of a test device unless told otherwise.
inline constexpr std::int64_t kGigabyte = 1'000'000'000;

/// Describes the devices of a test cluster.
struct ClusterSketch {
  DeviceId num_devices = 2;               ///< called "gpu:0", "gpu:1", ..., of class "test"
  std::int64_t memory_bytes = kGigabyte;  ///< of each
  double bytes_per_us = 1;                ///< speed of a link
  double gap_after_op_us = 0;             ///< rest of a device after an op
  double gap_after_transfer_us = 0;       ///< rest of a link after a transfer
  bool with_cpu = false;                  ///< adds "cpu:0" of class "cpu-test", not placeable
  bool with_slow_gpu = false;             ///< adds "slow:0" of class "slow-test", placeable
};

/// Returns the cluster; all profiles guess 1 us per FLOP for ops without a measured cost.
std::shared_ptr<const Cluster> make_cluster(const ClusterSketch& sketch);

/// Describes one op of a test graph.
struct OpSketch {
  std::string name;
  double cost_us = 1;                 ///< on "test"; 2x on "slow-test" and 10x on "cpu-test"
  std::int64_t output_bytes = 0;      ///< of its only output
  std::vector<OpId> producers{};      ///< ops that it reads, by position
  std::int64_t persistent_bytes = 0;  ///< weights
  std::string scope{};                ///< layer
};

/// Returns the graph of `ops`; each reads output 0 of its producers.
OpGraph make_graph(const std::vector<OpSketch>& ops, std::string name = "test");

/// Compiles a graph with each op a group of its own.
Problem make_problem(OpGraph graph, const ClusterSketch& sketch = {});

/// Returns a -> b -> c -> ... with the given costs and `bytes` on each edge.
OpGraph chain_graph(const std::vector<double>& costs_us, std::int64_t bytes);

/// Returns a(100) -> b(200), c(200) -> d(50) with `bytes` on each edge: with bytes = 0 the best on
/// two devices is 350 us, on one device 550 us.
OpGraph diamond_graph(std::int64_t bytes);

/// Returns two chains that cross once, seven ops whose costs and bytes make it worth a thought.
OpGraph crossing_graph();

/// Returns a source, `width` parallel ops of 100 us and a sink, the last two of 10 us.
OpGraph fork_join_graph(int width, std::int64_t bytes);

/// Returns the least step time of all placements, each of which is simulated.
double optimum_us(const Problem& problem);

}  // namespace emplace::test

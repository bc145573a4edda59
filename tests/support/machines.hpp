#pragma once

// Clusters of the `physical` and `grappler` models for tests, whose links are few enough to count
// on one's fingers, and random steps on them.

#include "support/problems.hpp"

#include <emplace/graphs/op_graph.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace emplace::test {

/// Returns one link that all transfers between `num_devices` devices share, in both directions.
Topology bus(DeviceId num_devices, const Link& link);

/// Returns a link like `link` for each ordered pair of devices.
Topology mesh(DeviceId num_devices, const Link& link);

/// Returns for each device a link out of it, like `out`, and one into it, like `in`; a transfer
/// takes one of each.
Topology star(DeviceId num_devices, const Link& out, const Link& in);

/// Returns a star of which devices with even and odd numbers hang on different switches, and one
/// link like `trunk` in each direction between the two.
Topology two_switches(DeviceId num_devices, const Link& port, const Link& trunk);

/// Describes the devices of a `physical` cluster, all alike, of class "test".
struct MachineSketch {
  std::int32_t slots = 1;
  double launch_us = 0;
  std::int64_t memory_bytes = kGigabyte;
  QueueOrder queue_order = QueueOrder::kFifo;
  Host host{};
};

/// Expects of the transfer at place `at` of a record whose it is, where it goes, and when.
void expect_transfer(const StepRecord& record, std::size_t at, OpId producer, DeviceId to,
                     double start_us, double end_us);

/// Gives each pair of devices without a route one over the first link, for tests in which nothing
/// goes there.
void route_the_rest(Topology& topology, DeviceId num_devices);

/// Returns a cluster of the `physical` model.
std::shared_ptr<const Cluster> make_machine(DeviceId num_devices, Topology topology,
                                            const MachineSketch& sketch = {});

/// Returns a cluster of the `grappler` model.
std::shared_ptr<const Cluster> make_grappler(DeviceId num_devices, const GrapplerModel& model);

/// Compiles a graph with each op a group of its own.
Problem make_problem(OpGraph graph, std::shared_ptr<const Cluster> cluster);

/// Holds a random step: what a problem is made of, and a placement.
struct RandomStep {
  OpGraph graph;
  std::shared_ptr<const Cluster> cluster;
  Placement placement;
};

/// Says whether quantities are of a few round values and often nothing, so that much happens at one
/// instant, or of a million different values, so that nothing does.
enum class Coincidences : std::uint8_t { kMany, kNone };

/// Draws a step of up to `max_ops` ops on 1 to 8 devices of the `physical` model; `below(n)` is an
/// integer in [0, n). Graphs have control edges, ops with several outputs, without any, and with
/// workspaces and weights; links are of all policies.
RandomStep draw_step(const std::function<std::uint64_t(std::uint64_t)>& below,
                     Coincidences coincidences, std::uint64_t max_ops);

}  // namespace emplace::test

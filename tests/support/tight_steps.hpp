#pragma once

// Random small problems whose memory can be set to what some placement just needs.

#include "support/small_problems.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

namespace emplace::test {

/// Compiles a step on devices that all have `memory_bytes`, by the rules of `model`, with each op a
/// group of its own, or with about so many groups.
inline Problem with_memory(const RandomStep& step, TransferModel model, std::int64_t memory_bytes,
                           GroupId num_groups = 0) {
  auto cluster = std::make_shared<Cluster>(*step.cluster);
  cluster->transfer_model = model;
  cluster->placeto = {.gap_after_op_us = 1, .gap_after_transfer_us = 2, .bytes_per_us = 10};
  cluster->grappler = {.latency_us = 2, .bytes_per_us = 10};
  for (DeviceProfile& profile : cluster->profiles) {
    profile.memory_bytes = memory_bytes;
  }
  if (num_groups == 0) {
    return make_problem(step.graph, cluster);
  }
  auto graph = std::make_shared<const OpGraph>(step.graph);
  Grouping grouping = group_ops(*graph, num_groups);
  return Problem(std::move(graph), std::move(grouping), std::move(cluster));
}

/// Returns the least memory, of each device, with which some placement fits: all are simulated.
inline std::int64_t least_memory_bytes(const Problem& problem) {
  Simulator simulator(problem);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for_each_placement(problem, [&](const Placement& placement) {
    const SimResult& result = simulator.run(placement);
    least = std::min(least, *std::max_element(result.peak_bytes.begin(), result.peak_bytes.end()));
  });
  return least;
}

/// Draws a step that has at most 4096 placements.
inline RandomStep draw_small_step(RandomStream& random) {
  const std::function<std::uint64_t(std::uint64_t)> below = [&random](std::uint64_t bound) {
    return random.below(bound);
  };
  for (;;) {
    RandomStep step =
        draw_step(below, below(2) == 0 ? Coincidences::kMany : Coincidences::kNone, 12);
    double placements = 1;
    for (std::size_t op = 0; op < boost::num_vertices(step.graph); ++op) {
      placements *= static_cast<double>(step.cluster->devices.size());
    }
    if (placements <= 4096) {
      return step;
    }
  }
}

}  // namespace emplace::test

#pragma once

// Contiguous stages whose largest load is least, by dynamic programming. With stages S1, S2, ...
// every value of the forward pass goes to its own or a later stage, so S1, S1 + S2, ... are ideals:
// sets of blocks that contain all producers of their blocks. With D(U, I) the least largest load of
// devices U that have the ideal I,
//
//     D(U, I) = min over devices d in U and ideals J within I of max(D(U - d, J), load(I - J, d))
//
// (Tarnawski et al., NeurIPS 2020). Devices of one kind are alike, so U is a number of each kind.
// Along one topological order, whose ideals are its prefixes, it is PipeDream's (Narayanan et al.,
// SOSP 2019) without replicas. Complexity: the pairs of ideals within a bound on the load, times
// the nets of a block and the sets U.

#include "stage_graph.hpp"

#include <emplace/base/infinity.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace emplace::agents {

/// Blocks on one device.
struct Stage {
  std::size_t kind = 0;  ///< of the device
  std::vector<BlockId> blocks{};
  double load_us = 0;
};

/// Stages in the order of the pipeline.
struct StageSplit {
  std::vector<Stage> stages{};      ///< none is empty
  double max_load_us = kInfinity;   ///< infinite if no split fits
  bool is_over_all_ideals = false;  ///< false: over the prefixes of one order
};

/// In one order, more blocks than these are merged with their neighbours: of some 4,000 pieces of
/// equal time, only the ends where the fewest bytes cross are tried.
inline constexpr std::size_t kMaxOrderedBlocks = 4000;

/// Above so many sets of devices, stages take devices in the order of `kinds`.
inline constexpr std::size_t kMaxDeviceSets = 300;

/// Returns the best split among those along `order`, for 1, 2, ... devices up to all of them; a
/// split may need fewer. Requires: a topological order of all blocks.
std::vector<StageSplit> splits_in_order(const StageGraph& graph, std::span<const BlockId> order);

/// Returns the best split of all contiguous ones, for all devices, if there are at most
/// `max_ideals` ideals, and otherwise `known`, which is at most `known.max_load_us`.
StageSplit split_over_ideals(const StageGraph& graph, std::size_t max_ideals, StageSplit known);

/// Returns where the groups of a problem go: the stages of each kind, one after the other, to its
/// devices, in ascending order. Requires: a split of `graph`, which is of that problem.
Placement placement_of(const Problem& problem, const StageGraph& graph, const StageSplit& split);

}  // namespace emplace::agents

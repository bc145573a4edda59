#pragma once

// What a pipeline's stages are made of: blocks, each a group of the forward pass together with the
// backward and update groups that belong to it, and the values that pass between blocks.
//
// A stage has one device. Its load is what it does in a step (Tarnawski et al., NeurIPS 2020):
//
//     load(S, d) = sum of costs on d of the blocks in S
//                + sum of transfers of the values that some, but not all, of their blocks have in S
//
// So a stage pays once for each value that it sends, to however many stages, and once for each that
// it receives. Nothing overlaps. A device that takes part in all steps of an endless pipeline needs
// at least its load for each. A transfer of n bytes costs `latency + n * us_per_byte`, the mean
// over the transfers between the device's kind and the other devices.
//
// A value and the blocks that produce or read it are a net of a hypergraph. Values of the same
// blocks, such as those of all micro-batches, are one net.

#include "heuristic/memory_fit.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace emplace::agents {

/// Index of a block in its graph.
using BlockId = Id<struct BlockTag>;

/// Devices that are alike: of the same profile.
struct StageDevices {
  std::vector<DeviceId> devices{};  ///< ascending
  std::int64_t capacity_bytes = 0;  ///< for weights and optimizer slots, of each
  double latency_us = 0;            ///< of a transfer from or to one of them
  double us_per_byte = 0;           ///< of such a transfer
};

/// Values that the same blocks have.
struct Net {
  std::int64_t values = 0;
  std::int64_t bytes = 0;         ///< of all of them
  std::vector<BlockId> blocks{};  ///< those that produce or read them, ascending; two at least
};

/// Blocks, how they depend on each other, and the devices of stages; see the head of this file.
struct StageGraph {
  std::vector<StageDevices> kinds{};
  IdVector<BlockId, std::vector<double>> cost_us{};     ///< of each block, by kind
  IdVector<BlockId, std::int64_t> persistent_bytes{};   ///< of each block
  IdVector<BlockId, std::vector<BlockId>> consumers{};  ///< in the forward pass; a DAG
  std::vector<Net> nets{};                              ///< by their blocks
  IdVector<BlockId, std::string_view> scopes{};         ///< of the forward group of each block
  IdVector<GroupId, BlockId> block_of{};                ///< of each group

  BlockId num_blocks() const { return cost_us.end_id(); }
};

/// Returns the blocks of a problem for stages on `devices`. A group that has a forward op makes a
/// block, all groups if none has. Another group belongs to the last of the groups in its scope from
/// which it reads, otherwise to the last one there that comes before what its producers belong to;
/// where no forward group has its scope, to the last from which it reads or to that of its
/// producers. O(ops + uses log uses). Requires: at least one device; `problem` outlives it.
StageGraph stage_graph(const Problem& problem, std::span<const DeviceId> devices);

/// Lowers capacities by what is to be kept free on some device of a kind.
void keep_free(StageGraph& graph, const MemoryReserve& reserve);

/// Returns the graph for devices of any capacity.
StageGraph without_limits(StageGraph graph);

/// Merges blocks: each into the block `into[block]` of a new graph. Requires: the new blocks are
/// `count`, and form a DAG.
StageGraph merged(const StageGraph& graph, const IdVector<BlockId, BlockId>& into, BlockId count);

/// Merges each block that takes no time and has one neighbour in the forward pass into that one, if
/// it shares all its values with it: no load gets larger, and there are fewer sets to choose from.
/// Only where memory is short can a split between the two be better.
StageGraph without_idle_leaves(const StageGraph& graph);

/// Returns the producers of each block in the forward pass.
IdVector<BlockId, std::vector<BlockId>> producers_of(const StageGraph& graph);

/// Returns the blocks in a topological order, depth first, so that one branch ends before the next
/// begins.
std::vector<BlockId> depth_first_order(const StageGraph& graph);

/// Returns the load of a device of `graph.kinds[kind]` that has `blocks`.
double load_us(const StageGraph& graph, std::size_t kind, std::span<const BlockId> blocks);

}  // namespace emplace::agents

#pragma once

// Splits the parts of a DAG that wait for one another. A partitioner or a rule by names knows no
// order in time: part A may feed part B and read from it, and then neither can be a group. Nodes
// are gone through as if they were run, one part at a time: a part whose nodes wait for no other
// part runs whole; where every part waits for another, the part with the first node that can run
// goes as far as it can, and what is left of it waits. Each run is a piece. A piece reads from
// earlier ones only, and parts that form a DAG already stay whole.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Returns the piece of each node 0 to n-1, numbered in an order in which pieces can run. `part_of`
/// gives the part of each node, 0 to the largest. Requires: `edges` (from, to) without a cycle.
/// O((nodes + edges) log nodes).
std::vector<std::int32_t> acyclic_parts(
    std::span<const std::pair<std::int32_t, std::int32_t>> edges,
    std::span<const std::int32_t> part_of);

}  // namespace emplace

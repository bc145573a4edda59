#pragma once

// Splits the parts of a DAG that wait for one another. A partitioner or a rule by names knows no
// order in time: part A may feed part B and read from it, and then neither can be a group. Nodes
// are gone through as if they were run, one part at a time: a part whose nodes wait for no other
// part runs whole; where every part waits for another, the part with the first node that can run
// goes as far as it can, and what is left of it waits. Each run is a piece. A piece reads from
// earlier ones only, and parts that form a DAG already stay whole.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Returns the piece of each node, numbered in an order in which pieces can run. `part_of`
/// gives the part of each node, 0 to the largest. Requires: `edges` (from, to) without a cycle.
/// O((nodes + edges) log nodes).
std::vector<std::int32_t> acyclic_parts(std::span<const std::pair<GroupId, GroupId>> edges,
                                        IdSpan<GroupId, const std::int32_t> part_of);

}  // namespace emplace

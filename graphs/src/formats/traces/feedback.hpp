#pragma once

// Which control dependencies of a trace to leave out so that its nodes can run. The linker of
// Chakra lets operators wait for kernels of their own; what a node computes from can always be
// kept.
//
// Only dependencies within a strongly connected component close a cycle. In each, nodes run as soon
// as nothing within it holds them back; where none can, the one that began first among those with
// all data runs, without the control dependencies that it still waits for. The least number is an
// NP-hard question (feedback arc set: Karp 1972), which the recorded order answers well enough.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace::chakra {

/// Returns which of `orders` to leave out because they close a cycle with the edges of `data` and
/// the other orders. In each pair the second op waits for the first. `start_us` is when each op
/// began, in microseconds. If `data` has a cycle, so has what is left. O((ops + edges) log ops).
std::vector<bool> find_feedback(const OpGraph& data, std::span<const std::pair<OpId, OpId>> orders,
                                std::span<const std::uint64_t> start_us);

}  // namespace emplace::chakra

#pragma once

// What must be known to run an op for real: the op, and the tensors that it reads. An op of a graph
// tells only what it writes; what it reads is written on its edges.

#include <emplace/graphs/op_graph.hpp>

#include <span>
#include <vector>

namespace emplace::calibrate {

/// Holds an op and the shapes and types of its inputs.
struct OpSite {
  Op op{};
  std::vector<Output> inputs{};  ///< one for each data edge, in the order of the op's inputs
};

/// Returns the site of op `op` of `graph`.
OpSite site_of(const OpGraph& graph, OpId op);

/// Returns one site for each distinct key (profiles/op_key.hpp) among the ops of all `graphs` that
/// occupy a device, sorted by key; of several ops of one key, that of the first graph and least id.
std::vector<OpSite> distinct_sites(std::span<const OpGraph> graphs);

}  // namespace emplace::calibrate

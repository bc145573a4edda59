#pragma once

// The sites of a graph's ops. Separate from op_site.hpp, which kernels include, because graph
// headers are slow to compile.

#include <emplace/calibrate/op_site.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <span>
#include <vector>

namespace emplace::calibrate {

/// Returns the site of op `op` of `graph`.
OpSite site_of(const OpGraph& graph, OpId op);

/// Returns one site for each distinct key (profiles/op_key.hpp) among the ops of all `graphs` that
/// occupy a device, sorted by key; if several ops have one key, that of the first graph and least
/// id.
std::vector<OpSite> distinct_sites(std::span<const OpGraph> graphs);

}  // namespace emplace::calibrate

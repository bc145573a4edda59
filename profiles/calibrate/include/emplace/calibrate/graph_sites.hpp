#pragma once

// The sites of a graph's ops. Separate from op_site.hpp, which kernels include, because graph
// headers are slow to compile.

#include <emplace/calibrate/op_site.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Returns the site of op `op` of `graph`.
OpSite site_of(const OpGraph& graph, OpId op);

/// Returns one site for each distinct key (profiles/op_key.hpp) among the ops of all `graphs` that
/// occupy a device, sorted by key; if several ops have one key, that of the first graph and least
/// id.
std::vector<OpSite> distinct_sites(std::span<const OpGraph> graphs);

/// Returns sites for another program to run, as a list in JSON: kind, shape, attributes (as text,
/// of their own JSON), flops, bytes and type of each op, the shapes and types of its inputs and
/// outputs, and the kinds of the producers of its inputs.
std::string sites_json(std::span<const OpSite> sites);

}  // namespace emplace::calibrate

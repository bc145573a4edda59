#pragma once

// Steps of one network for parts of a batch, which transforms join.

#include <emplace/graphs/op_graph.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace emplace {

/// Holds the step of a network for each part of a batch; parts of one size may share it.
using Parts = std::span<const std::reference_wrapper<const OpGraph>>;

/// Throws kUnsupported: the graph cannot be joined from parts, because its op `op` `why`.
[[noreturn]] void fail_to_join(const OpGraph& graph, const std::string& op, std::string_view why);

/// Throws kUnsupported, naming an op, unless the two have the same ops, by name, and edges.
void expect_same_network(const OpGraph& graph, const OpGraph& part);

}  // namespace emplace

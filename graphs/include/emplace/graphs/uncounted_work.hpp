#pragma once

// Work that an importer could not count: operators of other programs that emplace does not know.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace emplace {

/// Returns the kinds of ops whose work was not counted, and the number of ops of each: kinds that
/// are in no table, of ops without FLOPs and without measured costs. O(ops).
std::map<std::string, std::int64_t> uncounted_kinds(const OpGraph& graph);

/// Returns the kinds and numbers that uncounted_kinds() returns as a sentence for people; empty if
/// there are none.
std::string describe_uncounted(const OpGraph& graph);

}  // namespace emplace

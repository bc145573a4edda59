#pragma once

// The strategies that need more than a few lines, and the order of merging that some share.
// Requires everywhere: a target of at least 1.

#include "group_merger.hpp"

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

namespace emplace {

/// Returns the order of rules 2 and 3 of group_ops().
MergeOrder by_scope_and_balance();

/// Returns the order that takes the heaviest edge first, among the pairs that are no heavier than
/// an average group, then among those of up to twice that weight, and so on. With `parts_first`,
/// pairs within a part come before all others.
MergeOrder by_bytes_and_balance(bool parts_first);

/// Groups the ops of one layer, the scope cut at the greatest depth that gives at most `target`
/// groups; forward and backward apart.
Grouping group_by_scope(const OpGraph& graph, GroupId target);

/// Groups by METIS: parts of even work that cut few bytes, split where they wait for one another
/// and merged again.
Grouping group_by_metis(const OpGraph& graph, GroupId target);

}  // namespace emplace

#pragma once

// Merges neighbouring groups until few enough are left. Strategies differ only in which pair goes
// first, and which may never merge.

#include "group_graph.hpp"

#include <emplace/base/id_vector.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace emplace {

/// Describes two neighbours as they stand now.
struct MergePair {
  GroupContent both{};         ///< as one group
  std::int64_t bytes = 0;      ///< from the one to the other; a tensor counts once for each of the
                               ///< colocated groups that read it
  bool only_consumer = false;  ///< the producer is consumed by no other group
  bool same_part = false;      ///< both are of one part
  int excess = 0;  ///< bits of their work over what a group has on average at the target
};

/// Says how soon a pair merges: the least first, among equals that of the lowest ids.
using MergeRank = std::array<std::int64_t, 5>;

/// Says which of all pairs merges first.
struct MergeOrder {
  /// Rates a pair; nothing if it must not merge. While its groups grow, a rank may only get worse,
  /// except that a producer may become a group with one consumer, and that `bytes` may grow.
  std::function<std::optional<MergeRank>(const MergePair&)> rank{};
  bool by_bytes = false;  ///< more bytes between two groups may better their rank
};

/// Merges pairs of neighbours, none of which makes a cycle, until `target` groups are left or no
/// pair can merge, and returns the group of each op, numbered by first ops. `part_of` may give each
/// group a part; a group is of no part once it has merged across parts. Requires: groups that form
/// a DAG and are numbered by first ops. Near-linear in ops and edges, and for each merge of a group
/// with several consumers a search that is bounded by kMaxCycleSearch edges.
std::vector<GroupId> merge_groups(const OpGraph& graph, std::vector<GroupId> group_of,
                                  GroupId target, const MergeOrder& order,
                                  IdVector<GroupId, std::int32_t> part_of = {});

/// Makes groups of parts of colocated groups: splits parts that wait for one another
/// (acyclic_parts.hpp), then merges the pieces. `part_of` gives the part of each group.
std::vector<GroupId> groups_of_parts(const OpGraph& graph, std::vector<GroupId> colocated,
                                     const std::vector<std::int32_t>& part_of, GroupId target,
                                     const MergeOrder& order);

}  // namespace emplace

#pragma once

// The ways to put ops into groups, by name. All of them respect colocation: ops with one label are
// in one group, along with all ops on a path from one of them to another. All of them give groups
// that form a DAG, in topological order, and are deterministic (docs/concepts/grouping.md).
//
// Most aim at a number of groups and give at most that many, unless no two neighbours are left that
// can merge: unconnected parts of a graph stay separate.

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Describes one way to group.
struct GroupingStrategy {
  std::string_view name{};       ///< kebab-case, stable
  std::string_view summary{};    ///< one line
  std::string_view reference{};  ///< paper
  bool takes_target = true;      ///< false: the rules alone decide how many groups there are
  /// Groups the ops of a graph without a cycle. Requires: a target of at least 1.
  Grouping (*group)(const OpGraph&, GroupId target) = nullptr;
};

/// The default strategy: only ops that must be together share a group.
inline constexpr std::string_view kDefaultGrouping = "colocation";

/// The strategy that is used if only a number of groups is given: group_ops().
inline constexpr std::string_view kTargetGrouping = "neighbours";

/// Returns the name of the strategy for a user's choice: the name `given`, which may be empty, and
/// `groups` groups, 0 if no number was given.
constexpr std::string_view grouping_for(std::string_view given, std::int64_t groups) {
  return !given.empty() ? given : groups == 0 ? kDefaultGrouping : kTargetGrouping;
}

/// Returns all strategies of this build by name; `metis` is among them if METIS is.
std::span<const GroupingStrategy> grouping_strategies();

/// Returns the names of all strategies, sorted.
std::vector<std::string> grouping_names();

/// Returns the strategy called `name`; throws kUnknownName.
const GroupingStrategy& find_grouping(std::string_view name);

/// Returns the target for a number of groups that a user gave: `groups`, or kDefaultGroups for 0.
/// Throws kUsage for a number that is negative or too large, and for any but 0 if the strategy
/// takes no target.
GroupId target_of(const GroupingStrategy& strategy, std::int64_t groups);

}  // namespace emplace

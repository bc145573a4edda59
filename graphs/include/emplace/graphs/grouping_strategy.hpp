#pragma once

// The ways to put ops into groups, by name. All of them respect colocation: ops with one label are
// in one group, along with all ops on a way from one of them to another. All of them give groups
// that form a DAG, in topological order, and are deterministic (docs/concepts/grouping.md).
//
// Most aim at a number of groups and give at most that many, save where no two neighbours are left
// that can merge: parts of a graph that nothing connects stay apart.

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

/// Names the strategy that is used unless told otherwise: what must be together, and nothing else.
inline constexpr std::string_view kDefaultGrouping = "colocation";

/// Names the strategy that makes a number of groups where only a number is asked for: group_ops().
inline constexpr std::string_view kTargetGrouping = "neighbours";

/// Returns the name of the strategy that a user means who gave the name `given`, or none, and asked
/// for `groups` groups, or, by 0, for no number.
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

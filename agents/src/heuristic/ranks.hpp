#pragma once

// How far groups are from the end and from the start of a step, by which list schedulers order
// them. A group has one cost here, a summary of its costs on the placeable devices, and an edge has
// the mean transfer time between two of them, or none. All functions are O(groups * devices +
// edges), but for the order, which is O(edges + groups * log(groups)).

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <vector>

namespace emplace::agents {

/// Holds a time of each group, in microseconds.
using GroupTimes = IdVector<GroupId, double>;

/// Returns the mean cost of each group over the placeable devices.
GroupTimes mean_costs_us(const Problem& problem);

/// Returns the median cost of each group: of an even number of devices the mean of the two in the
/// middle.
GroupTimes median_costs_us(const Problem& problem);

/// Returns the cost of each group on the device that runs it fastest.
GroupTimes least_costs_us(const Problem& problem);

/// Says whether paths count transfers.
enum class Transfers : std::uint8_t { kIgnored, kMean };

/// Returns the length of the longest path from each group to the end of the step, its own cost
/// included: the upward rank of HEFT, the static level of ETF and DLS.
///     to_end(g) = cost(g) + max over consumers s of (c(g, s) + to_end(s))
GroupTimes times_to_end_us(const Problem& problem, const GroupTimes& costs_us, Transfers transfers);

/// Returns the length of the longest path from the start of the step to each group, its own cost
/// excluded: the downward rank.
///     from_start(g) = max over producers p of (from_start(p) + cost(p) + c(p, g))
GroupTimes times_from_start_us(const Problem& problem, const GroupTimes& costs_us,
                               Transfers transfers);

/// Returns all groups, producers before consumers: next is always the one with the highest priority
/// of those that may come next. Among equals the order is topological.
std::vector<GroupId> order_by_priority(const Problem& problem,
                                       const IdVector<GroupId, double>& priority);

}  // namespace emplace::agents

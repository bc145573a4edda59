#pragma once

// When each op can start at the earliest, wherever it and the others run: heads with the argument
// "stay or leave". Take an op v and an earlier op u. What lies between them either runs on their
// device, one after the other, or pays for leaving it and for coming back. So the time from the
// start of u to the start of v is at least
//     min over k of max(time of the k ops for which leaving takes longest, if all of them stay,
//                       time of the next one if it leaves)
// and no op stays or leaves for nothing. Two distances are kept for each pair of ops:
//     same(u, v)    if both share a device
//     apart(u, v)   if they do not; then an op between them is with u, with v, or elsewhere
// Each is also at least the time in which all devices together do what lies between, given when the
// first of it can start and how long the last of it takes to be back. Distances compose:
//     same(u, w)   >= min(same(u, v) + busy(v), apart(u, v) + busy(v) + extra(v, w))
//     apart(u, w)  >= min(same(u, v) + busy(v) + extra(v, w), apart(u, v) + busy(v))
// (for an edge v -> w), so what one join costs adds up along the graph. The argument for one op and
// its predecessors is that of Papadimitriou and Yannakakis (SIAM J. Computing 19(2), 1990), whose
// model lets ops run twice; here an op runs once, so a fork costs as much as a join.
//
// Pairs are looked at within a window of neighbours in the order of latest starts. Complexity:
// O(ops * (window + edges per op * window) + pairs of fork and join within a window * window log
// window) time, O(window^2 + ops) memory.

#include "precedence.hpp"

#include <emplace/base/id_vector.hpp>

namespace emplace::bounds {

/// Counts the devices on which ops may run.
struct Machines {
  DeviceId count = 1;
  double slots = 1;  ///< most ops that one device runs at a time
};

/// Returns the least time from the start of the step to the start of each op, in microseconds, by
/// the longest path alone: the cheaper of staying and leaving on each edge.
IdVector<OpId, double> longest_paths(const Precedence& ops);

/// Returns the same with the argument at the head of this file, for pairs of ops whose places in
/// the order of latest starts differ by less than `window`. Requires: window > 0.
IdVector<OpId, double> earliest_starts(const Precedence& ops, Machines machines,
                                       std::size_t window);

}  // namespace emplace::bounds

#pragma once

// How long a step takes at least if it has to fit into memory, where devices differ: what does not
// fit on the fast ones must run on the slow ones.
//
// Each group is on one device. Every step that fits has a makespan of at least the load of each
// device and the length of each path, and no device holds more bytes than it has. So for weights
// a, w_d >= 0 with a + sum of w_d = 1 and prices p_d >= 0 of a byte, the makespan is at least
//     min over placements of  a * length of a path + sum over d of w_d * load(d) + p_d * bytes(d)
//     - sum over d of p_d * memory(d),
// the Lagrangian relaxation of a generalized assignment problem (Fisher, Management Science 27(1),
// 1981). The minimum falls apart into one for each group, and one for those on the path, which is a
// shortest path over (op, kind of device): changing the device costs a transfer. In a fixed
// number of steps multiplicative updates improve the weights, and subgradient steps the prices.
//
// Bytes are those that each group keeps on its device while some op runs (ResidentBytes). Devices
// of one profile share weights and prices: by symmetry, others would be no better. So devices that
// are all alike need no more time for the sake of memory, by this argument.

#include "precedence.hpp"

#include <emplace/sim/problem.hpp>

#include <span>

namespace emplace::bounds {

/// Returns a lower bound of the makespan of placements that fit, in microseconds; 0 if devices are
/// alike, if everything fits on the devices of each kind, or if all of them together have too
/// little memory. `about_us` is what is known of the makespan, for the size of the steps.
/// O(ops + edges + groups * kinds of devices * steps).
double memory_bound_us(const Problem& problem, std::span<const DeviceId> devices,
                       const Precedence& ops, double about_us);

}  // namespace emplace::bounds

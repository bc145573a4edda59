#pragma once

// How long devices need at least for the work of some ops, whatever its order.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <span>
#include <vector>

namespace emplace::bounds {

/// Describes devices of one profile, which take the same time for every op.
struct DeviceKind {
  DeviceId example;
  double count;  // of devices
};

/// Returns the kinds of `devices`, in the order of their first devices.
std::vector<DeviceKind> kinds_of(const Problem& problem, std::span<const DeviceId> devices);

/// Returns for each kind the weight of one of its devices, which is its speed: weights that sum up
/// to 1 over all devices, and divide the work exactly where devices differ by one factor for all
/// ops. O(ops * kinds).
std::vector<double> weights_by_speed(const Problem& problem, const std::vector<DeviceKind>& kinds);

/// Returns for each op the least share of the step that it takes of all `devices` together, in
/// microseconds: shares of any ops add up to a time that these ops need. For weights w >= 0 of the
/// devices with sum 1 the share is
///     min over devices d of w_d * busy(op, d) / slots(d),
/// since the weighted mean of the devices' times is at most the longest. Weights that make the sum
/// of all shares large (the dual of the fractional assignment) are found by multiplicative updates;
/// they are equal, and exact, where all devices are alike. O(ops * kinds of devices * steps).
IdVector<OpId, double> shares_us(const Problem& problem, std::span<const DeviceId> devices);

}  // namespace emplace::bounds

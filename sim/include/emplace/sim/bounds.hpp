#pragma once

// Bounds that no placement of a problem can beat, shown next to every result. Each bound is valid
// for every placement on the given devices, by the rules of the cluster's transfer model
// (docs/concepts/lower-bounds.md has the arguments). Two are valid only for placements that fit
// into memory: memory_us and search_us.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace emplace {

/// Lower bounds on the makespan of placements, in microseconds.
struct LowerBounds {
  /// The bounds, from the weakest and cheapest to the strongest and most expensive.
  enum class Part : std::uint8_t {
    kCriticalPath,
    kTotalWork,
    kStayOrLeave,
    kWorkInBetween,
    kMemory,
    kSearch
  };

  /// Longest path with each op on its fastest device, and between two ops the lesser of what it
  /// costs to stay on one device (the gap) and to leave it (the transfer).
  double critical_path_us = 0;
  /// Total work shared by all devices without loss. For weights w >= 0 of the devices with sum 1,
  /// every placement takes at least sum over ops of min over devices of w * (cost + gap), the dual
  /// of the fractional assignment; the weights are improved by a fixed number of multiplicative
  /// updates.
  double total_work_us = 0;
  /// Longest path on which parallel ops either share a device, one after the other, or pay for the
  /// transfers to other devices.
  double stay_or_leave_us = 0;
  /// Work that starts after some time and ends before another, shared by all devices, and that of
  /// the ops of one group on one device, with both times by kStayOrLeave: release dates and tails.
  double work_in_between_us = 0;
  /// Longest path and total work together, for placements that fit: work for which the fast devices
  /// have no memory runs on slow ones. 0 if devices are alike, if everything fits on any of them,
  /// and if nothing fits. See sim/src/bounds/memory.hpp.
  double memory_us = 0;
  /// What a search proved for all placements that fit; 0 if none did.
  double search_us = 0;

  /// Returns the largest.
  double best_us() const;

  /// Returns which one that is; the first of equals.
  Part binding_part() const;
};

/// Returns "critical path", "total work", "stay or leave", "work in between", "memory" or "search".
std::string_view to_string(LowerBounds::Part part);

/// Computes the bounds for placements on `devices`. O(ops * (devices + window)) for a window that
/// shrinks with the number of ops, and is 0 above a million ops; see
/// sim/src/bounds/earliest_starts.hpp. Requires: at least one device.
LowerBounds lower_bounds(const Problem& problem, std::span<const DeviceId> devices);

/// Does the same for the devices from which agents choose.
inline LowerBounds lower_bounds(const Problem& problem) {
  return lower_bounds(problem, problem.used_devices());
}

/// Bounds for each op that every placement keeps, in microseconds.
struct OpBounds {
  IdVector<OpId, double> start_us{};  ///< from the start of the step to that of the op, at least
  IdVector<OpId, double> tail_us{};   ///< from its end, gap included, to the end of the step
  /// Its part of the work of all devices together: the shares of any set of ops add up to a time
  /// that the devices need for them.
  IdVector<OpId, double> share_us{};
};

/// Computes the bounds of all ops, from which lower_bounds() follows. Complexity and requirement
/// are the same.
OpBounds op_bounds(const Problem& problem, std::span<const DeviceId> devices);

/// Returns the time unit of a problem in microseconds: the makespan of every placement on `devices`
/// is a multiple of it. It is the greatest common divisor of all costs, if these are whole
/// microseconds and nothing else takes time (transfers, launches, gaps, ops that share a device); 0
/// if there is none.
double time_unit_us(const Problem& problem, std::span<const DeviceId> devices);

/// Returns the least multiple of `unit_us` that is not below a bound, or the bound if it is 0.
double rounded_up_us(double bound_us, double unit_us);

/// Describes work that cannot start before `release_us` and after whose end `tail_us` must pass.
struct Job {
  double release_us;
  double work_us;
  double tail_us;
};

/// Returns the largest min release + sum of work + min tail over all sets of `jobs`, which one
/// machine cannot beat, by Jackson's preemptive schedule (Carlier, EJOR 11, 1982). Sorts `jobs`.
/// O(n log n).
double one_machine_us(std::vector<Job>& jobs);

/// The share by which a makespan may be above a bound and still meet it: more than rounding errors
/// of bounds.
inline constexpr double kBoundRounding = 1e-8;

/// Returns how far a makespan is above a bound, as a fraction of the bound: 0.25 for 25 % above.
double gap_to_bound(double makespan_us, double bound_us);

}  // namespace emplace

#pragma once

// What no completion of a partial placement can beat, for branch and bound. Groups get devices one
// after the other; bound_us() then holds for every placement that agrees on them, whatever the
// order in which a device runs its ops: list schedules have anomalies (Graham 1969), so nothing is
// assumed about them. It is the largest of
// - the longest path: between two ops that have devices the transfer is known; an op without one
//   takes the device on which it could start (or, from the end, end) best;
// - for each device, the work of its ops between their heads and their tails;
// - for all devices, the work of all ops in the same way;
// - for each channel of the `placeto` model, the outputs that another device needs for sure.
// Heads and tails start from those of the empty placement (emplace/sim/bounds.hpp). Where makespans
// are multiples of a time unit, so is the bound.
//
// Complexity: O(edges * devices + ops log ops) for a bound.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/problem.hpp>

#include <span>
#include <vector>

namespace emplace::agents {

/// Bounds the completions of a partial placement from below.
class CompletionBound {
 public:
  /// Stands for a group without a device.
  static constexpr DeviceId kOpen = -1;

  /// Starts with the empty placement. Requires: `problem` outlives it.
  explicit CompletionBound(const Problem& problem);

  /// Gives a group a device, or takes it away (kOpen).
  void assign(GroupId group, DeviceId device);

  /// Returns a time in microseconds that every completion on placeable devices takes at least; may
  /// stop at the first bound that is not below `enough_us`.
  double bound_us(double enough_us);

  /// Returns how long after the start of each group the step lasts at least, by the last bound.
  IdVector<GroupId, double> group_tails_us() const;

  /// Returns the bounds of the ops in any placement.
  const OpBounds& of_ops() const { return of_ops_; }

 private:
  // An op that waits for another, for one of its outputs or (kControl) for its end.
  struct Edge {
    OpId op;
    OutputId output;
    double least_extra_us;  // on another device, more than on the same; negative where that is less
  };

  double busy_us(OpId op, DeviceId device) const {
    return device == kOpen ? least_busy_us_[op] : problem_.busy_us(op, device);
  }
  double extra_us(OpId producer, const Edge& edge, DeviceId from, DeviceId to) const;
  double path_us();
  double devices_us(double enough_us);
  double channels_us();

  const Problem& problem_;
  std::span<const DeviceId> devices_;
  OpBounds of_ops_;
  double unit_us_;
  IdVector<OpId, DeviceId> device_of_;
  IdVector<OpId, double> least_busy_us_;
  IdVector<OpId, std::vector<Edge>> before_;
  IdVector<OpId, std::vector<Edge>> after_;
  IdVector<OpId, double> heads_us_;
  IdVector<OpId, double> tails_us_;
  IdVector<OutputId, double> tail_after_us_;
  std::vector<Job> jobs_;
};

}  // namespace emplace::agents

#pragma once

// What is known about moves of groups to one device, before it pays for an evaluation.
//
// The groups that move are taken to start on the new device in the order of their present starts,
// when their inputs are there and the groups before them have ended; all others are taken to stay
// where they are in time. Then
//     path = max of new end + transfer + tail of each consumer, over the groups that move,
//     push = max of new end + tail of the next group on the new device, where that is delayed
// estimate from below how long the step becomes (the head and tail estimate of local search for job
// shops: Taillard 1994; Nowicki, Smutnicki 1996). Around these stand sums over the groups that
// move: their work, their transfers before and after, what of it is on the critical path, slack,
// waiting, and the loads of both devices. The estimates miss queues; the network learns what they
// are worth.
//
// Times t become sign(t) log2(1 + |t| / unit), linear between powers of two, in units of the mean
// time of a group or of a thousandth of the step.
//
// Complexity: O(edges of the groups that move + that many groups x log groups).

#include "learned_search/observed_step.hpp"
#include "search/random_moves.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace emplace::agents::learned_search {

/// Returns sign(x) log2(1 + |x|), linear between powers of two: the same bits on every machine.
float signed_log2(double x);

/// Computes the features of moves in a step.
class MoveFeatures {
 public:
  /// Counts the features of a move.
  static constexpr std::size_t kCount = 36;

  /// Prepares features in steps of `step`, which must outlive this. `mean_time_us` is that of a
  /// group.
  MoveFeatures(const ObservedStep& step, double mean_time_us);

  /// Sets `features`, kCount numbers, to those of `moves`. Requires: moves of different groups to
  /// one device, at least one, none of which is there.
  void compute(std::span<const Move> moves, std::span<float> features);

 private:
  struct Sums;
  void add_inputs(GroupId group, DeviceId to, Sums& sums);
  void add_outputs(GroupId group, DeviceId to, Sums& sums);
  void run_on(GroupId group, DeviceId to, Sums& sums);
  double busy_share_around(GroupId group, DeviceId device) const;
  // Says how critical something with this slack is: 1 without slack, and less the more there is.
  double criticality(double slack_us) const;

  const ObservedStep& step_;
  double mean_time_us_;
  std::vector<GroupId> moved_;
  // Of the groups that move: when they start and end on the new device.
  IdVector<GroupId, double> new_start_us_;
  IdVector<GroupId, double> new_end_us_;
  IdVector<GroupId, unsigned char> moves_;
  IdVector<DeviceId, Sequence> moved_from_;  // the groups that move, by old device
};

}  // namespace emplace::agents::learned_search

#pragma once

// Moves that a search tries next: some groups, and the device to which they go.
//
// Of several random moves (random_moves.hpp) the one with the best estimated gain for each unit of
// moved time is proposed (compare Kernighan, Lin 1970; Fiduccia, Mattheyses 1982): what it saves in
//     transfers between groups + costs of the groups + waiting for the device,
// where waiting for a device is taken to be the moved time multiplied by the share of time in which
// the device was busy with others around then in the last step that was observed. The estimate
// costs less than a hundredth of a simulation, and knows nothing about the critical path. So
// some proposals are a single candidate, and the search decides.
//
// Complexity of a proposal: O(candidates * edges of the moved groups). One thread.

#include "random_moves.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/random.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents {

/// Proposes moves; see the head of this file.
class MoveProposals {
 public:
  struct Options {
    std::int64_t candidates = 12;  ///< that are compared for each proposal
    double uncompared = 0.25;      ///< share of proposals that are one candidate
    RandomMoves::Options moves{};
  };

  /// Prepares proposals for the problem of `coarsening`, which must outlive this.
  MoveProposals(const Coarsening& coarsening, Options options);

  /// Returns the mean time of a group over groups and placeable devices, in microseconds.
  double mean_time_us() const { return moves_.mean_time_us(); }

  /// Learns from a step of `placement` when each device was busy.
  void observe(const Placement& placement, const StepOutline& step, double step_time_us);

  /// Returns moves of different groups to other devices than those in `placement`; empty if there
  /// is one device, or none was found. The view is valid until the next call.
  std::span<const Move> propose(const Placement& placement, RandomStream& random);

 private:
  static constexpr std::int32_t kPeriods = 50;  // of a step

  double estimated_gain(const Placement& placement) const;
  double saved_us(const Placement& placement, const GroupEdge& edge, GroupId other) const;
  double busy_share(DeviceId device, GroupId group) const;

  const Problem& problem_;
  Options options_;
  RandomMoves moves_;

  IdVector<GroupId, std::int32_t> period_of_;  // in which a group starts
  IdVector<GroupId, double> own_share_;        // of that period, for which it keeps its device busy
  IdVector<DeviceId, std::vector<double>> busy_;  // share of each period; empty: not observed

  std::vector<Move> drawn_;
  std::vector<Move> best_;
  IdVector<GroupId, DeviceId> target_;  // of the groups of drawn_; kStays of all others
};

}  // namespace emplace::agents

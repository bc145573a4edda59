#pragma once

// Moves that a search tries next: some groups, and the device to which they go.
//
// A move takes one random group, or its cluster: those groups of its device that are one group with
// it on a random coarser level (Coarsening), or its layer: the groups of its device with the same
// scope (its gradients and updates among them), or swaps it with a group of the other device. The
// other device is often that of a neighbour. Of several such candidates the one with the best
// estimated gain for each unit of moved time is proposed (compare Kernighan, Lin 1970; Fiduccia,
// Mattheyses 1982): what it saves in
//     transfers between groups + costs of the groups + waiting for the device,
// where waiting for a device is taken to be the moved time multiplied by the share of time in which
// the device was busy with others around then in the last step that was observed. The estimate
// costs less than a hundredth of a simulation, and knows nothing about the critical path. So
// some proposals are a single candidate, and the search decides.
//
// Complexity of a proposal: O(candidates * edges of the moved groups). One thread.

#include <emplace/agents/session.hpp>
#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/random.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents {

/// Says that a group goes to a device.
struct Move {
  GroupId group = 0;
  DeviceId device = 0;
};

/// Proposes moves; see the head of this file.
class MoveProposals {
 public:
  struct Options {
    std::int64_t candidates = 12;  ///< that are compared for each proposal
    double uncompared = 0.25;      ///< share of proposals that are one candidate
    /// Probabilities of each kind of move. All others move one group.
    double cluster = 0.5;
    double layer = 0.1;
    double swap = 0.05;
  };

  /// Prepares proposals for one problem, which must outlive this.
  explicit MoveProposals(const Problem& problem) : MoveProposals(problem, Options{}) {}
  MoveProposals(const Problem& problem, Options options);

  /// Returns the mean time of a group over groups and placeable devices, in microseconds.
  double mean_time_us() const { return mean_time_us_; }

  /// Learns from a step of `placement` when each device was busy.
  void observe(const Placement& placement, const StepOutline& step, double step_time_us);

  /// Returns moves of different groups to other devices than those in `placement`; empty if there
  /// is one device, or none was found. The view is valid until the next call.
  std::span<const Move> propose(const Placement& placement, RandomStream& random);

 private:
  static constexpr std::int32_t kPeriods = 50;  // of a step

  struct Neighbour {
    GroupId group;
    std::int64_t bytes;
    bool is_consumer;
  };

  // Disjoint sets of groups.
  struct Parts {
    IdVector<GroupId, std::int32_t> part_of;
    std::vector<std::vector<GroupId>> members;

    const std::vector<GroupId>& with(GroupId group) const {
      return members[static_cast<std::size_t>(part_of[group])];
    }
  };

  std::span<const Neighbour> neighbours(GroupId group) const {
    return {neighbours_.data() + first_neighbour_[group],
            neighbours_.data() + first_neighbour_[group + 1]};
  }

  void draw(const Placement& placement, RandomStream& random);
  DeviceId draw_device(const Placement& placement, GroupId group, RandomStream& random) const;
  void add_cluster(const Placement& placement, DeviceId device, RandomStream& random);
  void add_layer(const Placement& placement, DeviceId device);
  void add_others(const std::vector<GroupId>& groups, const Placement& placement, DeviceId device);
  void add_swap(const Placement& placement, DeviceId device, RandomStream& random);
  void add(GroupId group, DeviceId device);
  double estimated_gain(const Placement& placement) const;
  double busy_share(DeviceId device, GroupId group) const;

  const Problem& problem_;
  Options options_;
  std::vector<Neighbour> neighbours_;
  IdVector<GroupId, std::size_t> first_neighbour_;
  std::vector<Parts> levels_;  // coarser ones, finest first
  Parts layers_;
  double mean_time_us_ = 0;  // of a group, over devices

  IdVector<GroupId, std::int32_t> period_of_;  // in which a group starts
  IdVector<GroupId, double> own_share_;        // of that period, for which it keeps its device busy
  IdVector<DeviceId, std::vector<double>> busy_;  // share of each period; empty: not observed

  std::vector<Move> drawn_;
  std::vector<Move> best_;
  IdVector<GroupId, DeviceId> target_;  // of the groups of drawn_; kStays of all others
};

}  // namespace emplace::agents

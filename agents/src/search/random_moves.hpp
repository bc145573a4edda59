#pragma once

// Random moves of a placement: some groups, and the device to which they go.
//
// A move takes one random group, or its cluster: those groups that are one group with it on a
// random coarser level (Coarsening), all of them or those of its device; or its layer: the groups
// of its device with the same scope (its gradients and updates among them); or it swaps the group
// with one of the other device. The other device is often that of a neighbour.
//
// Complexity of a move: O(moved groups). One thread.

#include "coarsening/coarsening.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/random.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents {

/// Draws random moves of one problem; see the head of this file.
class RandomMoves {
 public:
  /// Holds the probabilities of each kind of move. All others move one group.
  struct Options {
    double cluster = 0.5;
    double layer = 0.1;
    double swap = 0.05;
    double neighbour = 0.7;  ///< that the device is that of a neighbour
    double whole = 0;        ///< that a cluster's groups of other devices move, too
  };

  /// Prepares moves for the problem of `coarsening`, which must outlive this.
  RandomMoves(const Coarsening& coarsening, Options options);

  /// Sets `moves` to moves of different groups to other devices than those in `placement`, at least
  /// one. Returns their level: 0 where one group moves or two are swapped, i for a cluster of the
  /// i-th coarser level, and one more than there are for a layer. Requires: two placeable devices.
  std::size_t draw(const Placement& placement, RandomStream& random,
                   std::vector<Move>& moves) const;

  /// Returns the mean time of a group over groups and placeable devices, in microseconds.
  double mean_time_us() const { return mean_time_us_; }

 private:
  // Disjoint sets of groups.
  class Parts {
   public:
    explicit Parts(IdVector<GroupId, std::int32_t> part_of);

    std::span<const GroupId> with(GroupId group) const {
      const std::size_t part = index_of(part_of_[group]);
      return {members_.data() + begin_[part], members_.data() + begin_[part + 1]};
    }

   private:
    IdVector<GroupId, std::int32_t> part_of_;
    std::vector<std::size_t> begin_;
    std::vector<GroupId> members_;
  };

  DeviceId draw_device(const Placement& placement, GroupId group, RandomStream& random) const;
  std::size_t add_cluster(const Placement& placement, RandomStream& random,
                          std::vector<Move>& moves) const;
  void add_swap(const Placement& placement, RandomStream& random, std::vector<Move>& moves) const;

  const Problem& problem_;
  Options options_;
  Parts layers_;
  std::vector<Parts> levels_;     // coarser ones, finest first
  std::vector<GroupId> movable_;  // that are not pinned; empty where there are no constraints
  double mean_time_us_ = 0;
};

}  // namespace emplace::agents

#pragma once

// The constraints of a cluster (profiles/constraints.hpp) on the groups of a problem.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/op_problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Says which groups may be where, from the constraints of a cluster. A group is pinned if one of
/// its ops is; groups of ops that must be together are tied, and pinned if one of them is.
class GroupConstraints {
 public:
  GroupConstraints() = default;

  /// Takes the groups in a topological order. Throws kUsage if ops of one group, or of groups that
  /// are tied, are pinned to different devices.
  GroupConstraints(const OpProblem& ops, const Grouping& grouping, std::span<const GroupId> order);

  /// Says whether there are none.
  bool empty() const { return pinned_.empty(); }

  /// Returns the device of a pinned group, or OpProblem::kNotPinned.
  DeviceId pinned_device(GroupId group) const {
    return empty() ? OpProblem::kNotPinned : pinned_[group];
  }

  /// Returns the same as a list. Requires: it is pinned.
  std::span<const DeviceId> pin_of(GroupId group) const { return {&pinned_[group], 1}; }

  /// Returns the groups on the device of `group`, itself among them, in topological order; empty if
  /// it is tied to none.
  std::span<const GroupId> tied_to(GroupId group) const {
    return empty() || tie_[group] < 0 ? std::span<const GroupId>() : ties_[index_of(tie_[group])];
  }

  /// Returns a number that two groups share if they are pinned to one device, if they are tied, or
  /// if neither has a constraint.
  std::int32_t class_of(GroupId group) const { return empty() ? -1 : class_[group]; }

 private:
  IdVector<GroupId, DeviceId> pinned_;   // empty if there are no constraints
  IdVector<GroupId, std::int32_t> tie_;  // index in ties_, or -1
  IdVector<GroupId, std::int32_t> class_;
  std::vector<std::vector<GroupId>> ties_;
};

}  // namespace emplace

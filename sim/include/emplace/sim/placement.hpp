#pragma once

// A device for every group of a problem, and optionally an order in which devices run the groups.
//
// Without an order, ready ops run in the order that the cluster sets, by default that in which they
// became ready. With one, each group has a priority: of the ready ops of a device, one of the
// highest priority runs next. A device never waits for an op that is not ready, so every assignment
// of priorities gives a step (list scheduling).

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Of two ready ops, the one with the larger number runs first.
using Priority = std::int32_t;

/// Says that a group goes to a device.
struct Move {
  GroupId group = 0;
  DeviceId device = 0;

  bool operator==(const Move&) const = default;
};

/// Says that a group gets a priority.
struct PriorityChange {
  GroupId group = 0;
  Priority priority = 0;
};

/// The device of each group, and optionally its priority. It is always complete: every group has a
/// device.
class Placement {
 public:
  Placement() = default;

  /// Puts `num_groups` groups on `device`.
  explicit Placement(GroupId num_groups, DeviceId device = 0)
      : devices_(static_cast<std::size_t>(num_groups), device) {}

  /// Takes the device of each group.
  explicit Placement(std::vector<DeviceId> devices) : devices_(std::move(devices)) {}

  GroupId size() const { return devices_.end_id(); }

  DeviceId operator[](GroupId group) const { return devices_[group]; }
  DeviceId& operator[](GroupId group) { return devices_[group]; }

  /// Returns the devices by group.
  std::span<const DeviceId> devices() const { return devices_; }

  /// Returns whether groups have priorities.
  bool has_priorities() const { return !priorities_.empty(); }

  /// Returns the priority of each group; empty if they have none.
  IdSpan<GroupId, const Priority> priorities() const { return priorities_; }

  /// Gives each group its priority; none if `priorities` is empty. Requires: one for each group, or
  /// none.
  void set_priorities(IdVector<GroupId, Priority> priorities) {
    priorities_ = std::move(priorities);
  }

  /// Gives a group another priority. Requires: has_priorities().
  void set_priority(GroupId group, Priority priority) { priorities_[group] = priority; }

  bool operator==(const Placement&) const = default;

 private:
  IdVector<GroupId, DeviceId> devices_;
  IdVector<GroupId, Priority> priorities_;
};

}  // namespace emplace

#pragma once

// A device for every group of a problem.

#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/ids.hpp>

#include <initializer_list>
#include <span>
#include <vector>

namespace emplace {

/// Holds the device of each group. It is complete from the start: every group has a device.
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

  bool operator==(const Placement&) const = default;

 private:
  IdVector<GroupId, DeviceId> devices_;
};

}  // namespace emplace

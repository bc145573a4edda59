#pragma once

// What differs from op to op and from one kind of device to the next, as costs do.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/profiles/cluster.hpp>

#include <cstddef>
#include <vector>

namespace emplace {

/// Holds a value for each op on each device. Devices of one profile share theirs.
template <typename T>
class OpDeviceTable {
 public:
  OpDeviceTable() = default;

  /// Takes the number of ops, and the devices from a cluster.
  OpDeviceTable(OpId num_ops, const Cluster& cluster)
      : num_ops_(index_of(num_ops)), values_(num_ops_ * cluster.profiles.size()) {
    for (const Device& device : cluster.devices) {
      begin_.push_back(device.profile * num_ops_);
    }
  }

  T operator()(OpId op, DeviceId device) const { return values_[begin_[device] + index_of(op)]; }

  /// Returns the values of all ops on `device`.
  IdSpan<OpId, const T> on(DeviceId device) const {
    return {values_.data() + begin_[device], num_ops_};
  }

  /// Returns the same, to set them for all devices of a profile.
  IdSpan<OpId, T> of_profile(std::size_t profile) {
    return {values_.data() + profile * num_ops_, num_ops_};
  }

 private:
  std::size_t num_ops_ = 0;
  IdVector<DeviceId, std::size_t> begin_;
  std::vector<T> values_;  // by profile, then by op
};

/// Holds costs in microseconds.
using CostTable = OpDeviceTable<double>;

}  // namespace emplace

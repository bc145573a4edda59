#include "memory_meter.hpp"

#include <algorithm>

namespace emplace::physical {

MemoryMeter::MemoryMeter(const Problem& problem)
    : problem_(problem),
      live_bytes_(problem.num_devices()),
      peak_bytes_(problem.num_devices()),
      has_grown_(problem.num_devices()) {
  grown_.reserve(live_bytes_.size());
}

void MemoryMeter::start(const Placement& placement) {
  is_out_of_memory_ = false;
  std::fill(live_bytes_.begin(), live_bytes_.end(), 0);
  std::fill(peak_bytes_.begin(), peak_bytes_.end(), 0);
  std::fill(has_grown_.begin(), has_grown_.end(), false);
  grown_.clear();
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    live_bytes_[placement[group]] += problem_.group_persistent_bytes(group);
  }
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    allocate(device, 0);
  }
}

void MemoryMeter::end_instant() {
  for (const DeviceId device : grown_) {
    has_grown_[device] = false;
    if (live_bytes_[device] > peak_bytes_[device]) {
      peak_bytes_[device] = live_bytes_[device];
      is_out_of_memory_ |= live_bytes_[device] > problem_.memory_bytes(device);
    }
  }
  grown_.clear();
}

}  // namespace emplace::physical

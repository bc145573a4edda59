#include "memory_meter.hpp"

#include <algorithm>

namespace emplace::physical {

MemoryMeter::MemoryMeter(const Problem& problem)
    : problem_(problem), usage_(problem.num_devices()), peak_bytes_(problem.num_devices()) {
  grown_.reserve(usage_.size());
}

void MemoryMeter::start(const Placement& placement) {
  std::fill(usage_.begin(), usage_.end(), Usage{});
  std::fill(peak_bytes_.begin(), peak_bytes_.end(), 0);
  grown_.clear();
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    usage_[placement[group]].live_bytes += problem_.group_persistent_bytes(group);
  }
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    allocate(device, 0);
  }
}

void MemoryMeter::end_instant() {
  for (const DeviceId device : grown_) {
    Usage& usage = usage_[device];
    usage.has_grown = false;
    peak_bytes_[device] = std::max(peak_bytes_[device], usage.live_bytes);
  }
  grown_.clear();
}

}  // namespace emplace::physical

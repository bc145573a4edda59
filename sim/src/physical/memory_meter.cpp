#include "memory_meter.hpp"

namespace emplace::physical {

MemoryMeter::MemoryMeter(const Problem& problem)
    : problem_(problem), usage_(problem.num_devices()), peak_bytes_(problem.num_devices()) {}

void MemoryMeter::start(const Placement& placement) {
  std::fill(usage_.begin(), usage_.end(), Usage{});
  instant_ = 0;
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    usage_[placement[group]].live_bytes += problem_.group_persistent_bytes(group);
  }
}

void MemoryMeter::finish() {
  for (DeviceId device = 0; device < usage_.end_id(); ++device) {
    peak_bytes_[device] = std::max(usage_[device].peak_bytes, usage_[device].live_bytes);
  }
}

}  // namespace emplace::physical

#include "engine.hpp"

#include <algorithm>
#include <limits>

namespace emplace {

void compare_with_capacity(const Problem& problem, SimResult& result) {
  result.bytes_over = 0;
  std::int64_t worst_over = std::numeric_limits<std::int64_t>::min();
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::int64_t over = result.peak_bytes[device] - problem.memory_bytes(device);
    result.bytes_over += std::max<std::int64_t>(over, 0);
    if (over > worst_over) {
      worst_over = over;
      result.worst_device = device;
    }
  }
  result.status = result.bytes_over > 0 ? StepStatus::kOutOfMemory : StepStatus::kOk;
}

StepRecord record_of(const Placement& placement, const SimResult& result) {
  return {.placement = placement,
          .status = result.status,
          .makespan_us = result.makespan_us,
          .start_us = {result.start_us.begin(), result.start_us.end()},
          .end_us = {result.end_us.begin(), result.end_us.end()},
          .transfers = {},
          .allocations = {},
          .peak_bytes = {result.peak_bytes.begin(), result.peak_bytes.end()},
          .worst_device = result.worst_device,
          .bytes_over = result.bytes_over};
}

}  // namespace emplace

#include "memory_fit.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace emplace::agents {

Placement fill_in_order(const Problem& problem, const MemoryReserve& reserve) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  const auto bytes = [&problem](GroupId group) {
    return problem.group_persistent_bytes(group) + problem.group_output_bytes(group);
  };
  std::int64_t total = 0;
  std::int64_t largest = 0;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    total += bytes(group);
    largest = std::max(largest, bytes(group));
  }
  const std::int64_t share = total / static_cast<std::int64_t>(devices.size()) + largest;

  std::vector<std::int64_t> used(devices.size(), 0);
  const auto left = [&](std::size_t device) {
    const std::int64_t usable = problem.memory_bytes(devices[device]) - reserve[devices[device]];
    return std::min(share, usable) - used[device];
  };
  Placement placement(problem.num_groups());
  std::size_t current = 0;
  for (const GroupId group : problem.group_order()) {
    while (current < devices.size() && bytes(group) > left(current)) {
      ++current;
    }
    std::size_t chosen = current;
    if (current == devices.size()) {
      chosen = 0;
      for (std::size_t device = 1; device < devices.size(); ++device) {
        chosen = left(device) > left(chosen) ? device : chosen;
      }
    }
    used[chosen] += bytes(group);
    placement[group] = devices[chosen];
  }
  return placement;
}

}  // namespace emplace::agents

#pragma once

// The devices that experts use.

#include <emplace/sim/problem.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

namespace emplace::agents {

/// Returns the placeable accelerators, or all placeable devices if there are none, ascending.
inline std::vector<DeviceId> accelerators(const Problem& problem) {
  const auto all = problem.placeable_devices();
  std::vector<DeviceId> devices;
  std::ranges::copy_if(all, std::back_inserter(devices), [&](DeviceId device) {
    return !problem.profile(device).device_class.starts_with("cpu");
  });
  return devices.empty() ? std::vector<DeviceId>(all.begin(), all.end()) : devices;
}

}  // namespace emplace::agents

#pragma once

// What CUPTI records about a machine: its GPUs, and their PCIe and NVLink connections.

#include <emplace/calibrate/activity.hpp>

#include <string>

namespace emplace::calibrate {

/// Returns a sentence for each GPU, PCIe connection of a GPU and set of NVLinks that `log` has a
/// record of; empty if there is none. Each is named once, however often it was recorded.
std::string describe_machine(const ActivityLog& log);

}  // namespace emplace::calibrate

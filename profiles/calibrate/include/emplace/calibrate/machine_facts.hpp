#pragma once

// What CUPTI records about a machine: its GPUs, and their PCIe and NVLink connections.

#include <emplace/calibrate/activity.hpp>

#include <string>

namespace emplace::calibrate {

/// Returns a sentence for each GPU, PCIe connection of a GPU and set of NVLinks that `log` has a
/// record of; empty if there is none. Each is named once, however often it was recorded.
std::string describe_machine(const ActivityLog& log);

/// Returns at which clocks the GPUs ran, as sampled: "multiprocessors 1755 to 1980 MHz, memory 3201
/// to 3201 MHz, 240 samples"; empty without samples.
std::string describe_clocks(const ActivityLog& log);

}  // namespace emplace::calibrate

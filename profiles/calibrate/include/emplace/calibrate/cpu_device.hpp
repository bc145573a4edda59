#pragma once

// Some cores of the CPU as a device that runs ops. Devices of disjoint cores are what a machine
// without a GPU can place ops on; they share the machine's memory bandwidth.
//
// Convolutions and matrix products use oneDNN if emplace was built with it, otherwise plain loops;
// ops that memory bounds only move memory, with the same results on any number of cores. Each queue
// is a thread, with a team of threads pinned to the device's cores.

#include <emplace/calibrate/compute_device.hpp>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Returns the cores that this process may use, in order.
std::vector<int> usable_cores();

/// Makes a device called `name` from these cores, at least one. Its share of the host's memory is
/// its share of the usable cores. Once `stop`, if it is not null, is true, it begins no run of an
/// op and no copy: what is timed has fewer runs, and queues end. Throws DeviceFailure if this
/// process may not use one of them.
std::unique_ptr<ComputeDevice> make_cpu_device(std::string name, std::span<const int> cores,
                                               const std::atomic<bool>* stop = nullptr);

}  // namespace emplace::calibrate

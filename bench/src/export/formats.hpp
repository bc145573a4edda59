#pragma once

// The writers of placement_format.hpp, and how other programs call devices.

#include <emplace/bench/placement_format.hpp>
#include <emplace/sim/problem.hpp>

#include <string>

namespace emplace::bench {

PlacementExport write_csv(const Problem& problem, const Placement& placement);
PlacementExport write_onnx(const Problem& problem, const Placement& placement);
PlacementExport write_tensorflow(const Problem& problem, const Placement& placement);
PlacementExport write_torch_device_map(const Problem& problem, const Placement& placement);
PlacementExport write_torch_fx(const Problem& problem, const Placement& placement);

/// Throws kUnsupported if the problem has replicas: a file for other programs is of one network.
void expect_no_replicas(const Problem& problem);

/// Returns "cuda:1" for "gpu:1" and "cpu" for "cpu:0"; throws kUnsupported for another name.
std::string torch_device(const std::string& device);

/// Returns "/job:localhost/replica:0/task:0/device:GPU:1" for "gpu:1"; throws as torch_device().
std::string tensorflow_device(const std::string& device);

}  // namespace emplace::bench

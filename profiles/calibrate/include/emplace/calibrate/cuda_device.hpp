#pragma once

// The GPUs of this machine as ComputeDevices, by CUDA. A GPU can also be cut into parts: disjoint
// sets of its multiprocessors (green contexts), each of which is then a device of its own, so that
// a machine with one GPU can provide several devices. Parts share the memory, its bandwidth and the
// copy engines.
//
// Convolutions run on cuDNN, matrix products on cuBLAS, and ops that memory bounds on kernels that
// only move memory.

#include <emplace/calibrate/activity.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <memory>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// How GPUs are used.
struct CudaOptions {
  /// Lets tensor cores round the factors of products of float32 to TF32, as frameworks do by
  /// default in convolutions. GPUs that have none compute in float32.
  bool tf32 = true;
  /// Cuts each GPU into this many parts of one size; 1 leaves it whole.
  std::int32_t parts = 1;
  /// Measures how long kernels and copies took. If it can't, or is null, events in the queues do,
  /// which also count the gaps between an op's kernels. Shared by all devices.
  std::shared_ptr<ActivitySource> activities{};
};

/// The GPUs of this machine, or why there are none to use.
struct CudaDevices {
  /// Called "gpu:0", "gpu:1" and so on, parts of one GPU side by side.
  std::vector<std::unique_ptr<ComputeDevice>> devices{};
  /// What is missing and how to get it; empty if there are devices.
  std::string missing{};
};

/// Opens all GPUs and the libraries that they need. A machine without them, or a program built
/// without the CUDA toolkit, is not a failure: the result says what is missing. Throws
/// DeviceFailure if a GPU is present but does not work, and kUsage if one can't be cut into that
/// many parts.
CudaDevices cuda_devices(const CudaOptions& options);

}  // namespace emplace::calibrate

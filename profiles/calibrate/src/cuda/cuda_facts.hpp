#pragma once

// What a GPU, its driver and its libraries say of themselves.

#include "gpu_part.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <string>

namespace emplace::calibrate {

/// Says how a GPU is used.
struct CudaUse {
  std::string name{};  ///< of the device
  bool tf32 = true;
  std::int32_t parts = 1;  ///< that share the memory
  bool is_profiled = false;
};

/// Returns the facts of a GPU or part. The class of a part ends in its multiprocessors.
DeviceFacts cuda_facts(const GpuPart& part, const CudaUse& use);

/// Says why CUDA finds no GPU, and what to do: `status` is what cudaGetDeviceCount() answered.
std::string why_no_gpu(cudaError_t status);

/// Returns the address of a GPU on the PCI bus, as Linux names it: "0000:3b:00.0".
std::string pci_bus_id(std::int32_t ordinal);

}  // namespace emplace::calibrate

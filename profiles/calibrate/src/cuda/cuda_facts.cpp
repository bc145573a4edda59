#include "cuda_facts.hpp"

#include "../device_class.hpp"
#include "cuda_check.hpp"
#include "gpu_monitor.hpp"
#include "peak_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <sstream>

namespace emplace::calibrate {
namespace {

std::int32_t attribute(const GpuPart& part, cudaDeviceAttr name) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, name, part.ordinal()), "cudaDeviceGetAttribute");
  return value;
}

// "driver 580.159.03", or, where the driver hides it, which CUDA it serves.
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  ..."
    if (word == "Module" && file >> word) {
      if (word == "for") {  // "... Open Kernel Module for x86_64  580.159.03  ..."
        file >> word >> word;
      }
      return "driver " + word;
    }
  }
  int version = 0;
  check_cuda(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  return fmt::format("a driver for CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::string cublas_version(const CublasLibrary& library) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  library.get_property(MAJOR_VERSION, &major);
  library.get_property(MINOR_VERSION, &minor);
  library.get_property(PATCH_LEVEL, &patch);
  return fmt::format("cuBLAS {}.{}.{}", major, minor, patch);
}

}  // namespace

DeviceFacts cuda_facts(const GpuPart& part, const CudaUse& use) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, part.ordinal()), "cudaGetDeviceProperties");
  const GpuRates rates{
      .major = properties.major,
      .minor = properties.minor,
      .multiprocessors = part.multiprocessors(),
      .clock_khz = static_cast<double>(attribute(part, cudaDevAttrClockRate)),
      .memory_clock_khz = static_cast<double>(attribute(part, cudaDevAttrMemoryClockRate)),
      .memory_bus_bits = attribute(part, cudaDevAttrGlobalMemoryBusWidth)};
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  const bool has_tf32 = use.tf32 && properties.major >= 8;
  const std::size_t cudnn = part.libraries().cudnn.get_version();
  DeviceFacts facts{
      .kind = DeviceKind::kGpu,
      .name = use.name,
      .device_class = device_class_of("gpu", properties.name),
      .product = properties.name,
      .peak_flops_per_us = peak_flops_per_us(rates, Precision::kFloat32),
      .tf32_flops_per_us = has_tf32 ? peak_flops_per_us(rates, Precision::kTf32) : 0,
      .float16_flops_per_us =
          properties.major >= 7 ? peak_flops_per_us(rates, Precision::kFloat16) : 0,
      .memory_bytes_per_us = memory_bytes_per_us(rates),
      .memory_bytes = static_cast<std::int64_t>(all_bytes) / use.parts,
      .context_bytes = static_cast<std::int64_t>(all_bytes - free_bytes) / use.parts,
      .compute_units = part.multiprocessors(),
      .copy_engines = properties.asyncEngineCount,
      .pci_bus_id = pci_bus_id(part.ordinal()),
      .software = fmt::format(
          "{}, CUDA {}.{}, cuDNN {}.{}.{}, {}, products in {}, timed by {}{}", driver_version(),
          CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, cudnn / 10000, cudnn % 10000 / 100,
          cudnn % 100, cublas_version(part.libraries().cublas), has_tf32 ? "TF32" : "float32",
          use.is_profiled ? "CUPTI" : "CUDA events",
          nvml_monitor() == nullptr ? ", without NVML, so other work on the GPU is unknown" : "")};
  if (!part.is_whole()) {
    facts.device_class += fmt::format("-{}sm", part.multiprocessors());
    facts.product += fmt::format(" ({} of {} multiprocessors)", part.multiprocessors(),
                                 properties.multiProcessorCount);
  }
  return facts;
}

std::string pci_bus_id(std::int32_t ordinal) {
  std::array<char, 32> id{};
  check_cuda(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), ordinal),
             "cudaDeviceGetPCIBusId");
  std::string text(id.data());
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string why_no_gpu(cudaError_t status) {
  switch (status) {
    case cudaSuccess:
    case cudaErrorNoDevice:
      return "no NVIDIA GPU was found: is one installed, and is it not hidden by "
             "CUDA_VISIBLE_DEVICES?";
    case cudaErrorInsufficientDriver: {
      int version = 0;
      cudaDriverGetVersion(&version);
      if (version == 0) {
        return "no NVIDIA driver was found (libcuda.so.1): on a machine with an NVIDIA GPU, "
               "install "
               "the driver (Debian's package nvidia-driver); in a container, run it with the GPU "
               "(docker run --gpus all)";
      }
      return fmt::format(
          "the NVIDIA driver serves CUDA {}.{}, but this program needs {}.{}: install a newer one",
          version / 1000, version % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    }
    default:
      return fmt::format("the NVIDIA driver does not start: {}", cudaGetErrorString(status));
  }
}

}  // namespace emplace::calibrate

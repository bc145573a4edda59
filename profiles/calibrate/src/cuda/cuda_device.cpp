#include "../cpu/near_cores.hpp"
#include "../measure.hpp"
#include "cuda_programs.hpp"
#include "gpu_device.hpp"
#include "gpu_monitor.hpp"

#include <emplace/base/error.hpp>
#include <emplace/calibrate/cuda_device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

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

// What a GPU, its driver and its libraries say of themselves. The class of a part ends in its
// multiprocessors.
DeviceFacts cuda_facts(const GpuPart& part, const CudaOptions& options, std::string name,
                       bool is_profiled) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, part.ordinal()), "cudaGetDeviceProperties");
  const GpuRates rates{
      .major = properties.major,
      .minor = properties.minor,
      .multiprocessors = part.multiprocessors(),
      .clock_khz = static_cast<double>(part.attribute(cudaDevAttrClockRate)),
      .memory_clock_khz = static_cast<double>(part.attribute(cudaDevAttrMemoryClockRate)),
      .memory_bus_bits = part.attribute(cudaDevAttrGlobalMemoryBusWidth)};
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  const bool has_tf32 = options.tf32 && properties.major >= 8;
  const std::size_t cudnn = part.libraries().cudnn.get_version();
  DeviceFacts facts{
      .kind = DeviceKind::kGpu,
      .name = std::move(name),
      .device_class = device_class_of("gpu", properties.name),
      .product = properties.name,
      .peak_flops_per_us = peak_flops_per_us(rates, Precision::kFloat32),
      .tf32_flops_per_us = has_tf32 ? peak_flops_per_us(rates, Precision::kTf32) : 0,
      .float16_flops_per_us =
          properties.major >= 7 ? peak_flops_per_us(rates, Precision::kFloat16) : 0,
      .memory_bytes_per_us = memory_bytes_per_us(rates),
      .memory_bytes = static_cast<std::int64_t>(all_bytes) / options.parts,
      .context_bytes = static_cast<std::int64_t>(all_bytes - free_bytes) / options.parts,
      .compute_units = part.multiprocessors(),
      .pci_bus_id = part.pci_bus_id(),
      .software = fmt::format(
          "{}, CUDA {}.{}, cuDNN {}.{}.{}, {}, products in {}, timed by {}{}", driver_version(),
          CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, cudnn / 10000, cudnn % 10000 / 100,
          cudnn % 100, cublas_version(part.libraries().cublas), has_tf32 ? "TF32" : "float32",
          is_profiled ? "CUPTI" : "CUDA events",
          nvml_monitor() == nullptr ? ", without NVML, so other work on the GPU is unknown" : "")};
  if (!part.is_whole()) {
    facts.device_class += fmt::format("-{}sm", part.multiprocessors());
    facts.product += fmt::format(" ({} of {} multiprocessors)", part.multiprocessors(),
                                 properties.multiProcessorCount);
  }
  return facts;
}

// Says why CUDA finds no GPU, and what to do: `status` is what cudaGetDeviceCount() answered.
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

// Copies a pattern from one GPU to another and looks at what arrives. Where it is damaged, as
// behind an IOMMU that translates addresses wrongly, all that is measured would mean nothing.
void verify_copies(const std::shared_ptr<const CudaLibraries>& libraries, std::int32_t from,
                   std::int32_t to) {
  constexpr std::int64_t kBytes = 1 << 20;
  CudaQueue sender(std::make_shared<const GpuPart>(libraries, from));
  CudaQueue receiver(std::make_shared<const GpuPart>(libraries, to));
  const std::unique_ptr<Memory> sent = device_memory(sender, kBytes, true);
  const std::unique_ptr<Memory> received = device_memory(receiver, kBytes, false);
  sender.copy(received->data(), sent->data(), kBytes);
  sender.finish();
  std::vector<char> expected(kBytes);
  std::vector<char> found(kBytes);
  sender.copy(expected.data(), sent->data(), kBytes);
  sender.finish();
  receiver.copy(found.data(), received->data(), kBytes);
  receiver.finish();
  if (found != expected) {
    throw DeviceFailure(fmt::format(
        "copies from GPU {} to GPU {} arrive damaged: is an IOMMU between them (turn it off, or "
        "turn off PCIe access control services)?",
        from, to));
  }
}

// Sets what CUDA reads when it starts, unless the user has. Streams that hold work share no
// hardware queue with those that they wait for, and kernels are loaded before they are timed.
void set_up_environment() {
  // NOLINTBEGIN(concurrency-mt-unsafe): before there are other threads
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  // NOLINTEND(concurrency-mt-unsafe)
}

// Lets GPUs copy to each other without going through the host, where they can.
void connect(std::int32_t gpus) {
  for (std::int32_t from = 0; from < gpus; ++from) {
    check_cuda(cudaSetDevice(from), "cudaSetDevice");
    for (std::int32_t to = 0; to < gpus; ++to) {
      int possible = 0;
      if (from != to) {
        check_cuda(cudaDeviceCanAccessPeer(&possible, from, to), "cudaDeviceCanAccessPeer");
      }
      if (possible != 0) {
        const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
        // Beyond the peers that a GPU may have, copies go through the host.
        if (status == cudaErrorPeerAccessAlreadyEnabled || status == cudaErrorTooManyPeers) {
          cudaGetLastError();
        } else {
          check_cuda(status, "cudaDeviceEnablePeerAccess");
        }
      }
    }
  }
}

}  // namespace

CudaDevice::CudaDevice(std::shared_ptr<const GpuPart> part, const CudaOptions& options,
                       std::string name)
    : part_(std::move(part)),
      tf32_(options.tf32),
      activities_(options.activities != nullptr && options.activities->why_none().empty()
                      ? options.activities
                      : nullptr),
      queue_(part_),
      gate_(part_),
      facts_(cuda_facts(*part_, options, std::move(name), activities_ != nullptr)) {}

std::unique_ptr<Memory> CudaDevice::allocate(std::int64_t bytes, bool random) {
  return device_memory(queue_, bytes, random);
}

std::unique_ptr<Memory> CudaDevice::allocate_on_host(std::int64_t bytes, bool pinned) {
  part_->activate();
  const NearCores near(facts_.pci_bus_id);
  return pinned ? pinned_memory(bytes) : pageable_memory(bytes);
}

std::unique_ptr<OpProgram> CudaDevice::compile(const OpSite& site) {
  part_->activate();
  std::vector<std::unique_ptr<CudaProgram>> ways = convolution_programs(site, *part_, tf32_);
  if (ways.empty()) {
    std::unique_ptr<CudaProgram> product = gemm_program(site, tf32_);
    return product != nullptr ? std::move(product) : memory_program(site);
  }
  std::int64_t workspace_bytes = 0;
  for (const auto& way : ways) {
    workspace_bytes = std::max(workspace_bytes, way->workspace_bytes());
  }
  std::vector<double> times_us(ways.size());
  if (ways.size() > 1) {
    const ProgramMemory memory(*this, site, workspace_bytes);
    std::ranges::transform(ways, times_us.begin(),
                           [&](const auto& way) { return trial_us(*way, memory.buffers()); });
  }
  const auto fastest = std::ranges::min_element(times_us) - times_us.begin();
  return std::move(ways[static_cast<std::size_t>(fastest)]);
}

std::string CudaDevice::throttled_by() const { return describe_clock_reasons(clock_reasons_); }

CudaDevices cuda_devices(const CudaOptions& options) {
  if (options.parts < 1) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("expected a GPU to be cut into at least 1 part, found {}", options.parts));
  }
  set_up_environment();
  int gpus = 0;
  const cudaError_t status = cudaGetDeviceCount(&gpus);
  if (status != cudaSuccess || gpus == 0) {
    cudaGetLastError();
    return {.missing = why_no_gpu(status)};
  }
  std::shared_ptr<const CudaLibraries> libraries;
  try {
    libraries = std::make_shared<CudaLibraries>();
  } catch (const DeviceFailure& failure) {
    return {.missing = failure.what()};
  }
  connect(gpus);
  for (std::int32_t pair = 0; pair < gpus * gpus; ++pair) {
    if (pair / gpus != pair % gpus) {
      verify_copies(libraries, pair / gpus, pair % gpus);
    }
  }
  CudaDevices found;
  for (std::int32_t gpu = 0; gpu < gpus; ++gpu) {
    const auto parts = options.parts == 1
                           ? std::vector{std::make_shared<const GpuPart>(libraries, gpu)}
                           : GpuPart::split(libraries, gpu, options.parts);
    for (const auto& part : parts) {
      found.devices.push_back(
          std::make_unique<CudaDevice>(part, options, fmt::format("gpu:{}", found.devices.size())));
    }
  }
  return found;
}

}  // namespace emplace::calibrate

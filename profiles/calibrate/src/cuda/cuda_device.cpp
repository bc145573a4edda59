#include "../cpu/near_cores.hpp"
#include "../device_figures.hpp"
#include "cuda_programs.hpp"
#include "cuda_timing.hpp"
#include "gpu_monitor.hpp"

#include <emplace/base/error.hpp>
#include <emplace/calibrate/cuda_device.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <optional>
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

class CudaDevice final : public ComputeDevice {
 public:
  CudaDevice(const std::shared_ptr<const GpuPart>& part, const CudaOptions& options,
             std::string name)
      : part_(part),
        tf32_(options.tf32),
        timer_(part, options.activities),
        queue_(part),
        facts_(cuda_facts(*part, options, std::move(name), timer_.is_profiled())) {}

  const DeviceFacts& facts() const override { return facts_; }

  std::unique_ptr<Memory> allocate(std::int64_t bytes, bool random) override {
    return device_memory(queue_, bytes, random);
  }

  std::unique_ptr<Memory> allocate_on_host(std::int64_t bytes, bool pinned) override {
    part_->activate();
    const NearCores near(facts_.pci_bus_id);
    return pinned ? pinned_memory(bytes) : pageable_memory(bytes);
  }

  std::unique_ptr<OpProgram> compile(const OpSite& site) override {
    part_->activate();
    std::unique_ptr<CudaProgram> program = convolution_program(site, queue_, tf32_);
    if (program == nullptr) {
      program = gemm_program(site, tf32_);
    }
    if (program == nullptr) {
      program = memory_program(site);
    }
    return program;
  }

  std::unique_ptr<Queue> make_queue() override { return std::make_unique<CudaQueue>(part_); }

  std::vector<TimedRun> time_runs(OpProgram& program, const OpBuffers& buffers, std::int32_t runs,
                                  Caches caches) override {
    auto times = timer_.time_runs(static_cast<const CudaProgram&>(program), buffers, runs, caches);
    tell_profiler_failure();
    return times;
  }

  std::vector<std::vector<TimedRun>> time_copies(std::span<const Copy> copies,
                                                 std::int32_t runs) override {
    const NearCores near(facts_.pci_bus_id);
    auto times = timer_.time_copies(copies, runs);
    tell_profiler_failure();
    return times;
  }

  Launch launches() override { return timer_.launches(); }

  std::string throttled_by() const override {
    return describe_clock_reasons(timer_.clock_reasons());
  }

  std::optional<double> message_us(ComputeDevice& other) override {
    auto* const gpu = dynamic_cast<CudaDevice*>(&other);
    return gpu == nullptr ? std::nullopt : std::optional(timer_.message_us(gpu->timer_));
  }

 private:
  void tell_profiler_failure() {
    if (!timer_.profiler_failure().empty() && !has_told_failure_) {
      facts_.software +=
          fmt::format("; CUPTI failed, then CUDA events timed: {}", timer_.profiler_failure());
      has_told_failure_ = true;
    }
  }

  std::shared_ptr<const GpuPart> part_;
  bool tf32_;
  CudaTimer timer_;
  CudaQueue queue_;
  DeviceFacts facts_;
  bool has_told_failure_ = false;
};

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
  for (std::int32_t from = 0; from < gpus; ++from) {
    for (std::int32_t to = 0; to < gpus; ++to) {
      if (from != to) {
        verify_copies(libraries, from, to);
      }
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

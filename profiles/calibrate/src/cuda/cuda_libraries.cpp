#include "cuda_libraries.hpp"

#include "memory_kernels.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace emplace::calibrate {
namespace {

// The version whose functions are wanted: that in which the youngest of them came.
constexpr unsigned kVersion = 12050;

template <typename Function>
bool find(const char* name, Function*& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result);
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return false;
  }
  function = reinterpret_cast<Function*>(found);
  return true;
}

[[noreturn]] void fail(std::string_view call, const char* reason) {
  throw DeviceFailure(fmt::format("{}: {}", call, reason));
}

// Whether, after such an error, all further work in this process has the same.
bool sticks(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

}  // namespace

Driver::Driver() {
  if (!find("cuGetErrorString", get_error_string) || !find("cuDeviceGet", device_get) ||
      !find("cuStreamWaitValue32", stream_wait_value)) {
    int version = 0;
    cudaDriverGetVersion(&version);
    throw DeviceFailure(
        fmt::format("the NVIDIA driver serves CUDA {}.{}, but 12.5 or newer is needed: install "
                    "driver 555 or newer",
                    version / 1000, version % 1000 / 10));
  }
  has_green_contexts = find("cuDeviceGetDevResource", device_get_resource) &&
                       find("cuDevSmResourceSplitByCount", split_by_count) &&
                       find("cuDevResourceGenerateDesc", generate_description) &&
                       find("cuGreenCtxCreate", green_context_create) &&
                       find("cuGreenCtxDestroy", green_context_destroy) &&
                       find("cuGreenCtxStreamCreate", green_context_stream_create) &&
                       find("cuCtxFromGreenCtx", context_of_green) &&
                       find("cuCtxSetCurrent", set_current);
}

CudnnLibrary::CudnnLibrary() {
  if (const std::size_t version = get_version(); version < 90800) {
    throw DeviceFailure(fmt::format("{} is cuDNN {}.{}, but 9.8 or newer is needed", library.path(),
                                    version / 10000, version % 10000 / 100));
  }
}

void check_cuda(cudaError_t status, std::string_view call) {
  if (sticks(status)) {
    throw DeviceLost(fmt::format("{}: {}: this process cannot use the GPU any more", call,
                                 cudaGetErrorString(status)));
  }
  if (status != cudaSuccess) {
    cudaGetLastError();  // an error that does not stick must not be found by the next call
    fail(call, cudaGetErrorString(status));
  }
}

void check_cuda(const Driver& driver, CUresult status, std::string_view call) {
  if (status != CUDA_SUCCESS) {
    const char* reason = nullptr;
    driver.get_error_string(status, &reason);
    fail(call, reason != nullptr ? reason : "unknown error");
  }
}

void check_cuda(const CublasLibrary& library, cublasStatus_t status, std::string_view call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail(call, library.get_status_string(status));
  }
}

void check_cuda(const CudnnLibrary& library, cudnnStatus_t status, std::string_view call) {
  if (status != CUDNN_STATUS_SUCCESS) {
    std::array<char, 512> detail{};
    library.get_last_error_string(detail.data(), detail.size());
    throw DeviceFailure(
        fmt::format("{}: {}: {}", call, library.get_error_string(status), detail.data()));
  }
}

void check_launch() { check_cuda(cudaGetLastError(), "launching a kernel"); }

}  // namespace emplace::calibrate

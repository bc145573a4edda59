#include "cuda_check.hpp"

#include "memory_kernels.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <fmt/format.h>

#include <array>

namespace emplace::calibrate {
namespace {

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

#pragma once

// Turns error codes of CUDA and its libraries into DeviceFailure: "cudaMalloc of 8 bytes: out of
// memory".

#include "cublas_library.hpp"
#include "cudnn_library.hpp"
#include "driver.hpp"

#include <cuda_runtime_api.h>

#include <string_view>

namespace emplace::calibrate {

/// Throws DeviceFailure naming `call`, unless `status` is success.
void check_cuda(cudaError_t status, std::string_view call);
void check_cuda(const Driver& driver, CUresult status, std::string_view call);
void check_cuda(const CublasLibrary& library, cublasStatus_t status, std::string_view call);
void check_cuda(const CudnnLibrary& library, cudnnStatus_t status, std::string_view call);

}  // namespace emplace::calibrate

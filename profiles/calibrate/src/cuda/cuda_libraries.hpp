#pragma once

// The libraries that GPUs need, and their errors. The program does not link them: the runtime finds
// the driver, and the others are opened by name. Of the driver, these are the functions that the
// runtime does not offer itself.
//
// Of cuDNN's two APIs, the graph API is the one that NVIDIA carries on: the older one is
// deprecated, and engines for the tensor cores of GPUs since H100 are reached by graphs only.

#include "shared_library.hpp"

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudnn_graph.h>

#include <string_view>

namespace emplace::calibrate {

/// Holds functions of the driver.
struct Driver {
  /// Finds them; throws DeviceFailure if the driver is too old.
  Driver();

  decltype(&cuGetErrorString) get_error_string = nullptr;
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuStreamWaitValue32) stream_wait_value = nullptr;

  // Green contexts.
  bool has_green_contexts = false;
  decltype(&cuDeviceGetDevResource) device_get_resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split_by_count = nullptr;
  decltype(&cuDevResourceGenerateDesc) generate_description = nullptr;
  decltype(&cuGreenCtxCreate) green_context_create = nullptr;
  decltype(&cuGreenCtxDestroy) green_context_destroy = nullptr;
  decltype(&cuGreenCtxStreamCreate) green_context_stream_create = nullptr;
  decltype(&cuCtxFromGreenCtx) context_of_green = nullptr;
  decltype(&cuCtxSetCurrent) set_current = nullptr;
};

/// Holds the functions of cuBLAS 13 or 12; making one throws DeviceFailure.
struct CublasLibrary {
  SharedLibrary library{
      {.what = "cuBLAS",
       .names = {"libcublas.so.13", "libcublas.so.12"},
       .remedy = "Install the CUDA toolkit (or Debian's package libcublas-13-0, or Python's "
                 "nvidia-cublas)"}};
  decltype(&cublasCreate) create = library["cublasCreate_v2"];
  decltype(&cublasDestroy) destroy = library["cublasDestroy_v2"];
  decltype(&cublasGetProperty) get_property = library["cublasGetProperty"];
  decltype(&cublasGetStatusString) get_status_string = library["cublasGetStatusString"];
  decltype(&cublasSetStream) set_stream = library["cublasSetStream_v2"];
  decltype(&cublasSetWorkspace) set_workspace = library["cublasSetWorkspace_v2"];
  decltype(&cublasSetSmCountTarget) set_sm_count_target = library["cublasSetSmCountTarget"];
  decltype(&cublasGemmStridedBatchedEx_64) gemm_strided_batched =
      library["cublasGemmStridedBatchedEx_64"];
};

/// Holds cuDNN's functions.
struct CudnnLibrary {
  /// Opens cuDNN 9.8 or newer; older ones cannot say what a described GPU runs;
  /// throws DeviceFailure.
  CudnnLibrary();

  SharedLibrary library{
      {.what = "cuDNN",
       .names = {"libcudnn.so.9"},
       .remedy = "Install cuDNN 9.8 or newer (Debian's package cudnn9-cuda-13, or Python's "
                 "nvidia-cudnn-cu13)"}};
  decltype(&cudnnGetVersion) get_version = library["cudnnGetVersion"];
  decltype(&cudnnGetErrorString) get_error_string = library["cudnnGetErrorString"];
  decltype(&cudnnGetLastErrorString) get_last_error_string = library["cudnnGetLastErrorString"];
  decltype(&cudnnCreate) create = library["cudnnCreate"];
  decltype(&cudnnDestroy) destroy = library["cudnnDestroy"];
  decltype(&cudnnSetStream) set_stream = library["cudnnSetStream"];
  decltype(&cudnnBackendCreateDescriptor) create_descriptor =
      library["cudnnBackendCreateDescriptor"];
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor =
      library["cudnnBackendDestroyDescriptor"];
  decltype(&cudnnBackendSetAttribute) set_attribute = library["cudnnBackendSetAttribute"];
  decltype(&cudnnBackendGetAttribute) get_attribute = library["cudnnBackendGetAttribute"];
  decltype(&cudnnBackendFinalize) finalize = library["cudnnBackendFinalize"];
  decltype(&cudnnBackendExecute) execute = library["cudnnBackendExecute"];
};

/// Holds the libraries that GPUs need.
struct CudaLibraries {
  Driver driver{};
  CublasLibrary cublas{};
  CudnnLibrary cudnn{};
};

/// Throws DeviceFailure naming `call`, unless `status` is success: "cudaMalloc of 8 bytes: out of
/// memory".
void check_cuda(cudaError_t status, std::string_view call);
void check_cuda(const Driver& driver, CUresult status, std::string_view call);
void check_cuda(const CublasLibrary& library, cublasStatus_t status, std::string_view call);
void check_cuda(const CudnnLibrary& library, cudnnStatus_t status, std::string_view call);

}  // namespace emplace::calibrate

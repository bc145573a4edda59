#pragma once

// cuBLAS, as far as matrix products need it.

#include "shared_library.hpp"

#include <cublas_v2.h>

namespace emplace::calibrate {

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

}  // namespace emplace::calibrate

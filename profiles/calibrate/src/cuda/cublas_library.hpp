#pragma once

// cuBLAS, as far as matrix products need it.

#include "shared_library.hpp"

#include <cublas_v2.h>

namespace emplace::calibrate {

/// Holds cuBLAS's functions.
struct CublasLibrary {
  /// Opens cuBLAS 13 or 12; throws DeviceFailure.
  CublasLibrary();

  SharedLibrary library;
  decltype(&cublasCreate) create = nullptr;
  decltype(&cublasDestroy) destroy = nullptr;
  decltype(&cublasGetProperty) get_property = nullptr;
  decltype(&cublasGetStatusString) get_status_string = nullptr;
  decltype(&cublasSetStream) set_stream = nullptr;
  decltype(&cublasSetWorkspace) set_workspace = nullptr;
  decltype(&cublasSetSmCountTarget) set_sm_count_target = nullptr;
  decltype(&cublasGemmStridedBatchedEx_64) gemm_strided_batched = nullptr;
};

}  // namespace emplace::calibrate

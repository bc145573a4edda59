#include "cublas_library.hpp"

namespace emplace::calibrate {

CublasLibrary::CublasLibrary()
    : library({.what = "cuBLAS",
               .names = {"libcublas.so.13", "libcublas.so.12"},
               .remedy =
                   "Install the CUDA toolkit (or Debian's package libcublas-13-0, or Python's "
                   "nvidia-cublas)"}) {
  library.find("cublasCreate_v2", create);
  library.find("cublasDestroy_v2", destroy);
  library.find("cublasGetProperty", get_property);
  library.find("cublasGetStatusString", get_status_string);
  library.find("cublasSetStream_v2", set_stream);
  library.find("cublasSetWorkspace_v2", set_workspace);
  library.find("cublasSetSmCountTarget", set_sm_count_target);
  library.find("cublasGemmStridedBatchedEx_64", gemm_strided_batched);
}

}  // namespace emplace::calibrate

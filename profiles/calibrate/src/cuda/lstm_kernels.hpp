#pragma once

// What LSTM cells do beside their products (kernels/lstm.hpp), as nvcc compiled it.

#include "../kernels/lstm.hpp"
#include "cuda_launcher.hpp"

namespace emplace::calibrate {

/// Calls the functions of kernels/lstm.hpp for elements of type T: float or kernels::Bfloat16.
template <class T>
struct LstmKernels {
  static void gates(CudaLauncher& launcher, const kernels::LstmShape& shape, const T* z,
                    const T* bias, const T* c, T* h_next, T* c_next, T* gates);
  static void gates_backward(CudaLauncher& launcher, const kernels::LstmShape& shape,
                             const T* dh_next, const T* dc_next, const T* c, const T* c_next,
                             const T* gates, T* dz, T* dc);
  static void bias_backward(CudaLauncher& launcher, const kernels::LstmShape& shape, const T* dz,
                            T* dbias, void* workspace);
};

}  // namespace emplace::calibrate

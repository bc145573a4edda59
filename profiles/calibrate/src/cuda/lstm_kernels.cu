#include "cuda_launcher.cuh"
#include "lstm_kernels.hpp"

namespace emplace::calibrate {

template <class T>
void LstmKernels<T>::gates(CudaLauncher& launcher, const kernels::LstmShape& shape, const T* z,
                           const T* bias, const T* c, T* h_next, T* c_next, T* gates) {
  kernels::lstm_gates<T>(launcher, shape, z, bias, c, h_next, c_next, gates);
}

template <class T>
void LstmKernels<T>::gates_backward(CudaLauncher& launcher, const kernels::LstmShape& shape,
                                    const T* dh_next, const T* dc_next, const T* c, const T* c_next,
                                    const T* gates, T* dz, T* dc) {
  kernels::lstm_gates_backward<T>(launcher, shape, dh_next, dc_next, c, c_next, gates, dz, dc);
}

template <class T>
void LstmKernels<T>::bias_backward(CudaLauncher& launcher, const kernels::LstmShape& shape,
                                   const T* dz, T* dbias, void* workspace) {
  kernels::lstm_bias_backward<T>(launcher, shape, dz, dbias, workspace);
}

template struct LstmKernels<float>;
template struct LstmKernels<kernels::Bfloat16>;

}  // namespace emplace::calibrate

// Compiled with -mavx2; see kernel_loops.hpp for what may be included here.

#include "kernel_loops.hpp"

namespace emplace::agents::nn {

template <>
const Kernels<float>& kernels_avx2<float>() {
  return Loops<float, 32>::kTable;
}

template <>
const Kernels<double>& kernels_avx2<double>() {
  return Loops<double, 32>::kTable;
}

}  // namespace emplace::agents::nn

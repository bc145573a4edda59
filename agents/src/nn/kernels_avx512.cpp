// Compiled with -mavx512f; see kernel_loops.hpp for what may be included here.

#include "kernel_loops.hpp"

namespace emplace::agents::nn {

template <>
const Kernels<float>& kernels_avx512<float>() {
  return Loops<float, 64>::kTable;
}

template <>
const Kernels<double>& kernels_avx512<double>() {
  return Loops<double, 64>::kTable;
}

}  // namespace emplace::agents::nn

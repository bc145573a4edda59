#include "kernels.hpp"

#include "kernel_loops.hpp"

namespace emplace::agents::nn {

template <class Scalar>
const Kernels<Scalar>* find_kernels(std::size_t bytes) {
  switch (bytes) {
    case 16:
      return &Loops<Scalar, 16>::kTable;
#ifdef EMPLACE_X86_KERNELS
    case 32:
      return __builtin_cpu_supports("avx2") ? &kernels_avx2<Scalar>() : nullptr;
    case 64:
      return __builtin_cpu_supports("avx512f") ? &kernels_avx512<Scalar>() : nullptr;
#endif
    default:
      return nullptr;
  }
}

template <class Scalar>
const Kernels<Scalar>& kernels() {
  static const Kernels<Scalar>& widest = []() -> const Kernels<Scalar>& {
    const Kernels<Scalar>* found = find_kernels<Scalar>(64);
    found = found != nullptr ? found : find_kernels<Scalar>(32);
    return found != nullptr ? *found : *find_kernels<Scalar>(16);
  }();
  return widest;
}

template const Kernels<float>* find_kernels(std::size_t);
template const Kernels<double>* find_kernels(std::size_t);
template const Kernels<float>& kernels();
template const Kernels<double>& kernels();

}  // namespace emplace::agents::nn

#pragma once

// All of our own ops by kind, for any launcher. Each subject is a header that a launcher compiles
// in a file of its own, since compilers take long over them.

#include "skeleton.hpp"

#include <span>

namespace emplace::calibrate::kernels {

/// Returns the kernels of one subject.
template <class Launcher>
std::span<const NamedKernel<Launcher>> attention_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> axis_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> depthwise_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> elementwise_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> embedding_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> loss_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> movement_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> normalization_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> pooling_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> routing_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> sum_kernels();
template <class Launcher>
std::span<const NamedKernel<Launcher>> update_kernels();

/// Makes the kernel of a site; empty if nothing here runs ops of its kind, type or shapes.
template <class Launcher>
Kernel<Launcher> make_kernel(const OpSite& site) {
  for (const auto kernels :
       {attention_kernels<Launcher>(), axis_kernels<Launcher>(), depthwise_kernels<Launcher>(),
        elementwise_kernels<Launcher>(), embedding_kernels<Launcher>(), loss_kernels<Launcher>(),
        movement_kernels<Launcher>(), normalization_kernels<Launcher>(),
        pooling_kernels<Launcher>(), routing_kernels<Launcher>(), sum_kernels<Launcher>(),
        update_kernels<Launcher>()}) {
    for (const NamedKernel<Launcher>& kernel : kernels) {
      if (kernel.kind == site.op.kind) {
        return kernel.make(site);
      }
    }
  }
  return {};
}

}  // namespace emplace::calibrate::kernels

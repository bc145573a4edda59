#pragma once

// All of our own ops by kind, for any launcher. Each subject is a header that a launcher compiles
// in a file of its own, since compilers take long over them.

#include "skeleton.hpp"

#include <span>

namespace emplace::calibrate::kernels {

/// Returns the kernels of one subject.
template <class Launcher>
std::span<const NamedKernel<Launcher>> elementwise_kernels();

/// Makes the kernel of a site; empty if nothing here runs ops of its kind, type or shapes.
template <class Launcher>
Kernel<Launcher> make_kernel(const OpSite& site) {
  for (const auto kernels : {elementwise_kernels<Launcher>()}) {
    for (const NamedKernel<Launcher>& kernel : kernels) {
      if (kernel.kind == site.op.kind) {
        return kernel.make(site);
      }
    }
  }
  return {};
}

}  // namespace emplace::calibrate::kernels

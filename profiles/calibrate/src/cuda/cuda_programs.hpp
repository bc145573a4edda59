#pragma once

// Programs of ops: those that call cuDNN and cuBLAS, and those that only move memory.

#include "cuda_queue.hpp"

#include <emplace/calibrate/op_site.hpp>

#include <memory>
#include <vector>

namespace emplace::calibrate {

/// Returns some ways to run the convolution of `site` on a GPU or part, the likely fastest first;
/// none if it is no convolution, or of a type that cuDNN does not run.
std::vector<std::unique_ptr<CudaProgram>> convolution_programs(const OpSite& site,
                                                               const GpuPart& part, bool tf32);

/// Returns the product of `site`; null if it is none, or of a type that cuBLAS does not run.
std::unique_ptr<CudaProgram> gemm_program(const OpSite& site, bool tf32);

/// Returns the program of an op that memory bounds; null if `site` is none.
std::unique_ptr<CudaProgram> memory_program(const OpSite& site);

}  // namespace emplace::calibrate

#pragma once

// Programs that call cuDNN and cuBLAS.

#include "../gemm_site.hpp"
#include "convolution_plan.hpp"
#include "cuda_queue.hpp"

#include <emplace/calibrate/op_site.hpp>

#include <memory>

namespace emplace::calibrate {

/// Returns the fastest of some ways to run the convolution of `site`, tried on `queue` with random
/// numbers; null if it is none, or of a type that cuDNN does not run.
std::unique_ptr<CudaProgram> convolution_program(const OpSite& site, CudaQueue& queue, bool tf32);

/// Returns the product of `site`; null if it is none, or of a type that cuBLAS does not run.
std::unique_ptr<CudaProgram> gemm_program(const OpSite& site, bool tf32);

/// Says where the matrices of a product lie, those of a batch one after another. `workspace` has
/// kGemmWorkspaceBytes.
struct GemmBuffers {
  const void* left = nullptr;
  const void* right = nullptr;
  void* result = nullptr;
  void* workspace = nullptr;
};

/// Enqueues a product.
void enqueue_gemm(CudaQueue& queue, const GemmSite& site, bool tf32, const GemmBuffers& buffers);

/// Says whether cuBLAS and cuDNN multiply numbers of `type` here.
bool has_gemms_of(DataType type);

/// The scratch memory that cuBLAS recommends for GPUs since H100; it uses less on others.
inline constexpr std::int64_t kGemmWorkspaceBytes = std::int64_t{32} << 20;

}  // namespace emplace::calibrate

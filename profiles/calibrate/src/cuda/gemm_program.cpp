#include "../gemm_site.hpp"
#include "cuda_check.hpp"
#include "library_programs.hpp"

#include <emplace/base/check.hpp>

#include <tuple>

namespace emplace::calibrate {
namespace {

// The scratch memory that cuBLAS recommends for GPUs since H100; it uses less on others.
constexpr std::int64_t kGemmWorkspaceBytes = std::int64_t{32} << 20;

cudaDataType cublas_type(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return CUDA_R_32F;
    case DataType::kFloat16:
      return CUDA_R_16F;
    case DataType::kBfloat16:
      return CUDA_R_16BF;
    default:
      EMPLACE_CHECK(false, "product of {}", to_string(type));
  }
}

class GemmProgram final : public CudaProgram {
 public:
  GemmProgram(const GemmSite& site, bool tf32) : site_(site), tf32_(tf32) {}

  std::int64_t workspace_bytes() const override { return kGemmWorkspaceBytes; }
  std::string_view library() const override { return "cublas"; }

  // cuBLAS takes matrices column by column. Row by row, C is what it calls C', and C' = B' A': the
  // sides change places and nothing is transposed.
  void enqueue(CudaQueue& queue, const OpBuffers& buffers) const override {
    const CublasLibrary& library = queue.part().libraries().cublas;
    const cublasHandle_t handle = queue.cublas();
    // Memory of our own, so that products can be recorded into CUDA graphs.
    check_cuda(library, library.set_workspace(handle, buffers.workspace, kGemmWorkspaceBytes),
               "cublasSetWorkspace");
    const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const cudaDataType type = cublas_type(site_.type);
    const bool rounds = tf32_ && site_.type == DataType::kFloat32;
    const float one = 1;
    const float zero = 0;
    const auto [m, n, k] = std::tuple(site_.m, site_.n, site_.k);
    check_cuda(library,
               library.gemm_strided_batched(
                   handle, operation(site_.right_transposed), operation(site_.left_transposed), n,
                   m, k, &one, buffers.inputs[1], type, site_.right_transposed ? k : n, k * n,
                   buffers.inputs[0], type, site_.left_transposed ? m : k, m * k, &zero,
                   buffers.outputs[0], type, n, m * n, site_.batch,
                   rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
               "cublasGemmStridedBatchedEx");
  }

 private:
  GemmSite site_;
  bool tf32_;
};

}  // namespace

bool has_gemms_of(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

std::unique_ptr<CudaProgram> gemm_program(const OpSite& site, bool tf32) {
  const auto product = gemm_site(site);
  if (!product || !has_gemms_of(product->type)) {
    return nullptr;
  }
  return std::make_unique<GemmProgram>(*product, tf32);
}

}  // namespace emplace::calibrate

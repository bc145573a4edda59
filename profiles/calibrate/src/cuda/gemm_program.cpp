#include "cuda_check.hpp"
#include "library_programs.hpp"

#include <emplace/base/check.hpp>

#include <tuple>

namespace emplace::calibrate {
namespace {

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

  void enqueue(CudaQueue& queue, const OpBuffers& buffers) const override {
    enqueue_gemm(queue, site_, tf32_,
                 {.left = buffers.inputs[0],
                  .right = buffers.inputs[1],
                  .result = buffers.outputs[0],
                  .workspace = buffers.workspace});
  }

 private:
  GemmSite site_;
  bool tf32_;
};

}  // namespace

bool has_gemms_of(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

// cuBLAS takes matrices column by column. Row by row, C is what it calls C', and C' = B' A': the
// sides change places and nothing is transposed.
void enqueue_gemm(CudaQueue& queue, const GemmSite& site, bool tf32, const GemmBuffers& buffers) {
  const CublasLibrary& library = queue.part().libraries().cublas;
  const cublasHandle_t handle = queue.cublas();
  // Memory of our own, so that products can be recorded into CUDA graphs.
  check_cuda(library, library.set_workspace(handle, buffers.workspace, kGemmWorkspaceBytes),
             "cublasSetWorkspace");
  const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const cudaDataType type = cublas_type(site.type);
  const bool rounds = tf32 && site.type == DataType::kFloat32;
  const float one = 1;
  const float beta = site.accumulates ? 1 : 0;
  const auto [m, n, k] = std::tuple(site.m, site.n, site.k);
  check_cuda(
      library,
      library.gemm_strided_batched(
          handle, operation(site.right_transposed), operation(site.left_transposed), n, m, k, &one,
          buffers.right, type, site.right_transposed ? k : n, k * n, buffers.left, type,
          site.left_transposed ? m : k, m * k, &beta, buffers.result, type, n, m * n, site.batch,
          rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      "cublasGemmStridedBatchedEx");
}

std::unique_ptr<CudaProgram> gemm_program(const OpSite& site, bool tf32) {
  const auto product = gemm_site(site);
  if (!product || !has_gemms_of(product->type)) {
    return nullptr;
  }
  return std::make_unique<GemmProgram>(*product, tf32);
}

}  // namespace emplace::calibrate

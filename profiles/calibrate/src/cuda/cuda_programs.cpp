#include "cuda_programs.hpp"

#include "../library_site.hpp"
#include "convolution_plan.hpp"
#include "memory_kernels.hpp"

#include <emplace/base/check.hpp>

#include <array>
#include <tuple>
#include <utility>

namespace emplace::calibrate {
namespace {

// Says whether cuBLAS and cuDNN multiply numbers of `type` here.
bool has_gemms_of(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

// --- Convolutions ---

// As much as frameworks give cuDNN when they let it choose.
constexpr std::int64_t kWorkspaceLimit = std::int64_t{1} << 30;

// Heuristics order engines well but not perfectly; the first few are tried, as frameworks do.
constexpr std::size_t kTried = 4;

// Where x, w and y of a convolution stand among an op's inputs, by ConvolutionPass.
constexpr int kResult = -1;
using Places = std::array<int, 3>;
constexpr std::array kPlaces = {Places{0, 1, kResult}, Places{kResult, 1, 0},
                                Places{1, kResult, 0}};

class ConvolutionProgram final : public CudaProgram {
 public:
  ConvolutionProgram(ConvolutionPass pass, ConvolutionPlan plan)
      : places_(kPlaces[static_cast<std::size_t>(pass)]), plan_(std::move(plan)) {}

  std::int64_t workspace_bytes() const override { return plan_.workspace_bytes; }
  std::string_view library() const override { return "cudnn"; }

  void enqueue(CudaQueue& queue, const OpBuffers& buffers) const override {
    const auto tensor = [&](std::size_t i) {
      const int input = places_[i];
      // cuDNN writes to the result only, but its call takes all tensors alike.
      return input == kResult ? buffers.outputs[0]
                              : const_cast<void*>(buffers.inputs[static_cast<std::size_t>(input)]);
    };
    run_convolution(queue.part().libraries().cudnn, queue.cudnn(), plan_,
                    {tensor(0), tensor(1), tensor(2)}, buffers.workspace);
  }

 private:
  Places places_;
  ConvolutionPlan plan_;
};

// --- Products ---

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

// --- Ops that memory bounds ---

class CudaMemoryProgram final : public CudaProgram {
 public:
  explicit CudaMemoryProgram(const MemorySite& site) : site_(site) {}

  std::int64_t workspace_bytes() const override { return 0; }
  std::string_view library() const override { return "generic"; }

  void enqueue(CudaQueue& queue, const OpBuffers& buffers) const override {
    enqueue_memory_op(queue.stream(), site_, bound(site_, buffers));
  }

 private:
  MemorySite site_;
};

}  // namespace

std::vector<std::unique_ptr<CudaProgram>> convolution_programs(const OpSite& site,
                                                               const GpuPart& part, bool tf32) {
  std::vector<std::unique_ptr<CudaProgram>> programs;
  programs.reserve(kTried);
  const auto found = convolution_site(site);
  if (!found || !has_gemms_of(found->type)) {
    return programs;
  }
  const CudnnLibrary& library = part.libraries().cudnn;
  const ConvolutionRequest request{.site = *found,
                                   .tf32 = tf32,
                                   .workspace_limit = kWorkspaceLimit,
                                   .multiprocessors = part.is_whole() ? 0 : part.multiprocessors()};
  for (ConvolutionPlan& plan :
       convolution_plans(library, describe_gpu(library, part.ordinal()), request, kTried)) {
    programs.push_back(std::make_unique<ConvolutionProgram>(found->pass, std::move(plan)));
  }
  return programs;
}

std::unique_ptr<CudaProgram> gemm_program(const OpSite& site, bool tf32) {
  const auto product = gemm_site(site);
  if (!product || !has_gemms_of(product->type)) {
    return nullptr;
  }
  return std::make_unique<GemmProgram>(*product, tf32);
}

std::unique_ptr<CudaProgram> memory_program(const OpSite& site) {
  const auto found = memory_site(site);
  return found ? std::make_unique<CudaMemoryProgram>(*found) : nullptr;
}

}  // namespace emplace::calibrate

#include "kernel_program.hpp"

#include "../kernels/kernels.hpp"

#include <utility>

namespace emplace::calibrate {
namespace {

class KernelProgram final : public CudaProgram {
 public:
  explicit KernelProgram(kernels::Kernel<CudaLauncher> kernel) : kernel_(std::move(kernel)) {}

  std::int64_t workspace_bytes() const override { return kernel_.workspace_bytes; }
  std::string_view library() const override { return "emplace"; }

  void enqueue(CudaQueue& queue, const OpBuffers& buffers) const override {
    CudaLauncher launcher = queue.launcher();
    kernel_.run(launcher, buffers);
  }

 private:
  kernels::Kernel<CudaLauncher> kernel_;
};

}  // namespace

std::unique_ptr<CudaProgram> kernel_program(const OpSite& site) {
  kernels::Kernel<CudaLauncher> kernel = kernels::make_kernel<CudaLauncher>(site);
  return kernel.run ? std::make_unique<KernelProgram>(std::move(kernel)) : nullptr;
}

}  // namespace emplace::calibrate

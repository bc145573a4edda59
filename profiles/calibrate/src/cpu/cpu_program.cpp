#include "cpu_program.hpp"

#include "../kernels/kernels.hpp"
#include "cpu_launcher.hpp"
#include "library.hpp"

#include <utility>

namespace emplace::calibrate {
namespace {

class KernelProgram final : public CpuProgram {
 public:
  explicit KernelProgram(kernels::Kernel<CpuLauncher> kernel) : kernel_(std::move(kernel)) {}

  std::int64_t workspace_bytes() const override { return kernel_.workspace_bytes; }
  std::string_view library() const override { return "emplace"; }
  void run(const CoreTeam& team, const OpBuffers& buffers) override {
    CpuLauncher launcher(team);
    kernel_.run(launcher, buffers);
  }

 private:
  kernels::Kernel<CpuLauncher> kernel_;
};

class LibraryProgram final : public CpuProgram {
 public:
  // `first` is the input that the op wants first.
  LibraryProgram(std::unique_ptr<BinaryOp> op, std::size_t first)
      : op_(std::move(op)), first_(first) {}

  std::int64_t workspace_bytes() const override { return op_->workspace_bytes(); }
  std::string_view library() const override { return op_->library(); }
  void run(const CoreTeam& team, const OpBuffers& buffers) override {
    op_->run(team, buffers.inputs[first_], buffers.inputs[1 - first_], buffers.outputs[0],
             buffers.workspace);
  }

 private:
  std::unique_ptr<BinaryOp> op_;
  std::size_t first_;
};

std::unique_ptr<CpuProgram> by_library(std::unique_ptr<BinaryOp> op, std::size_t first) {
  return op != nullptr ? std::make_unique<LibraryProgram>(std::move(op), first) : nullptr;
}

}  // namespace

std::unique_ptr<CpuProgram> compile_for_cpu(const OpSite& site, const CoreTeam& team) {
  if (const auto convolution = convolution_site(site)) {
    return by_library(make_convolution(*convolution, team), 0);
  }
  if (const auto product = product_site(site)) {
    return by_library(make_product(*product, team), product->left_input);
  }
  if (site.op.kind == "lstm_cell" || site.op.kind == "lstm_cell_backward") {
    return compile_lstm_for_cpu(site, team);
  }
  auto kernel = kernels::make_kernel<CpuLauncher>(site);
  return kernel.run ? std::make_unique<KernelProgram>(std::move(kernel)) : nullptr;
}

}  // namespace emplace::calibrate

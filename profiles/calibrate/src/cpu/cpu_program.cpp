#include "cpu_program.hpp"

#include "eviction.hpp"
#include "library.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace emplace::calibrate {
namespace {

class LibraryProgram final : public CpuProgram {
 public:
  explicit LibraryProgram(std::unique_ptr<BinaryOp> op) : op_(std::move(op)) {}

  std::int64_t workspace_bytes() const override { return op_->workspace_bytes(); }
  std::string_view library() const override { return op_->library(); }
  void run(const CoreTeam& team, const OpBuffers& buffers) override {
    op_->run(team, buffers.inputs[0], buffers.inputs[1], buffers.outputs[0], buffers.workspace);
  }

 private:
  std::unique_ptr<BinaryOp> op_;
};

std::unique_ptr<CpuProgram> by_library(std::unique_ptr<BinaryOp> op) {
  return op != nullptr ? std::make_unique<LibraryProgram>(std::move(op)) : nullptr;
}

}  // namespace

void CpuProgram::remember_sizes(const OpSite& site) {
  const auto bytes_of = [](const std::vector<Output>& tensors) {
    std::vector<std::int64_t> bytes;
    std::ranges::transform(tensors, std::back_inserter(bytes), &Output::bytes);
    return bytes;
  };
  input_bytes_ = bytes_of(site.inputs);
  output_bytes_ = bytes_of(site.op.outputs);
  state_bytes_ = site.op.persistent_bytes;
}

void CpuProgram::evict(const CoreTeam& team, const OpBuffers& buffers) const {
  for (std::size_t i = 0; i < input_bytes_.size(); ++i) {
    calibrate::evict(team, buffers.inputs[i], input_bytes_[i]);
  }
  for (std::size_t i = 0; i < output_bytes_.size(); ++i) {
    calibrate::evict(team, buffers.outputs[i], output_bytes_[i]);
  }
  calibrate::evict(team, buffers.state, state_bytes_);
}

std::unique_ptr<CpuProgram> compile_for_cpu(const OpSite& site, const CoreTeam& team) {
  if (const auto convolution = convolution_site(site)) {
    return by_library(make_convolution(*convolution, team));
  }
  if (const auto product = gemm_site(site)) {
    return by_library(make_gemm(*product, team));
  }
  return compile_memory_for_cpu(site);
}

}  // namespace emplace::calibrate

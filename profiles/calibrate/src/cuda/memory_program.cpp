#include "library_programs.hpp"
#include "memory_kernels.hpp"

namespace emplace::calibrate {
namespace {

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

std::unique_ptr<CudaProgram> memory_program(const OpSite& site) {
  const auto found = memory_site(site);
  return found ? std::make_unique<CudaMemoryProgram>(*found) : nullptr;
}

}  // namespace emplace::calibrate

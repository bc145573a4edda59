#include "cuda_memory.hpp"

#include "cuda_check.hpp"
#include "memory_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace emplace::calibrate {
namespace {

// CUDA gives no address for no bytes, but an empty tensor has one.
std::size_t at_least_one(std::int64_t bytes) {
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

// Memory that `free` gives back.
class OwnedMemory final : public Memory {
 public:
  OwnedMemory(void* data, std::int64_t bytes, void (*free)(void*))
      : data_(data, free), bytes_(bytes) {}

  void* data() const override { return data_.get(); }
  std::int64_t bytes() const override { return bytes_; }

 private:
  std::unique_ptr<void, void (*)(void*)> data_;
  std::int64_t bytes_;
};

}  // namespace

std::unique_ptr<Memory> device_memory(CudaQueue& queue, std::int64_t bytes, bool random) {
  queue.part().activate();
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, at_least_one(bytes)), fmt::format("cudaMalloc of {} bytes", bytes));
  auto memory = std::make_unique<OwnedMemory>(data, bytes, [](void* own) { cudaFree(own); });
  if (random) {
    enqueue_random_fill(queue.stream(), memory->data(), bytes);
    queue.finish();
  }
  return memory;
}

std::unique_ptr<Memory> pinned_memory(std::int64_t bytes) {
  void* data = nullptr;
  check_cuda(cudaHostAlloc(&data, at_least_one(bytes), cudaHostAllocPortable),
             fmt::format("cudaHostAlloc of {} bytes", bytes));
  return std::make_unique<OwnedMemory>(data, bytes, [](void* own) { cudaFreeHost(own); });
}

std::unique_ptr<Memory> pageable_memory(std::int64_t bytes) {
  void* data = ::operator new(at_least_one(bytes), std::nothrow);
  if (data == nullptr) {
    throw DeviceFailure(fmt::format("the host has no {} bytes of memory left", bytes));
  }
  std::memset(data, 0, at_least_one(bytes));  // written, so its pages are there
  return std::make_unique<OwnedMemory>(data, bytes, [](void* own) { ::operator delete(own); });
}

}  // namespace emplace::calibrate

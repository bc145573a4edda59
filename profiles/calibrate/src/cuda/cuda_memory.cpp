#include "cuda_memory.hpp"

#include "cuda_check.hpp"
#include "memory_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <vector>

namespace emplace::calibrate {
namespace {

// CUDA gives no address for no bytes, but an empty tensor has one.
std::size_t at_least_one(std::int64_t bytes) {
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(std::int64_t bytes) : bytes_(bytes) {
    check_cuda(cudaMalloc(&data_, at_least_one(bytes)),
               fmt::format("cudaMalloc of {} bytes", bytes));
  }
  ~DeviceMemory() override { cudaFree(data_); }
  void* data() const override { return data_; }
  std::int64_t bytes() const override { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_;
};

class PinnedMemory final : public Memory {
 public:
  explicit PinnedMemory(std::int64_t bytes) : bytes_(bytes) {
    check_cuda(cudaHostAlloc(&data_, at_least_one(bytes), cudaHostAllocPortable),
               fmt::format("cudaHostAlloc of {} bytes", bytes));
  }
  ~PinnedMemory() override { cudaFreeHost(data_); }
  void* data() const override { return data_; }
  std::int64_t bytes() const override { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_;
};

class PageableMemory final : public Memory {
 public:
  explicit PageableMemory(std::int64_t bytes) : bytes_(bytes) {
    try {
      data_.resize(at_least_one(bytes));
    } catch (const std::bad_alloc&) {
      throw DeviceFailure(fmt::format("the host has no {} bytes of memory left", bytes));
    }
  }
  void* data() const override { return const_cast<char*>(data_.data()); }
  std::int64_t bytes() const override { return bytes_; }

 private:
  std::int64_t bytes_;
  std::vector<char> data_;  // zeros: written, so its pages are there
};

}  // namespace

std::unique_ptr<Memory> device_memory(CudaQueue& queue, std::int64_t bytes, bool random) {
  queue.part().activate();
  auto memory = std::make_unique<DeviceMemory>(bytes);
  if (random) {
    enqueue_random_fill(queue.stream(), memory->data(), bytes);
    queue.finish();
  }
  return memory;
}

std::unique_ptr<Memory> pinned_memory(std::int64_t bytes) {
  return std::make_unique<PinnedMemory>(bytes);
}

std::unique_ptr<Memory> pageable_memory(std::int64_t bytes) {
  return std::make_unique<PageableMemory>(bytes);
}

}  // namespace emplace::calibrate

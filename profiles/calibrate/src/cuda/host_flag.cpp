#include "host_flag.hpp"

#include "cuda_check.hpp"

#include <new>
#include <thread>
#include <utility>

namespace emplace::calibrate {
namespace {

// What a stream waits for where it can't read the number itself.
struct Awaited {
  const std::atomic<std::uint32_t>* number;
  std::uint32_t value;
};

void CUDART_CB await(void* argument) {
  const std::unique_ptr<Awaited> awaited(static_cast<Awaited*>(argument));
  while (awaited->number->load(std::memory_order_acquire) < awaited->value) {
    std::this_thread::yield();
  }
}

}  // namespace

HostFlag::HostFlag(std::shared_ptr<const GpuPart> part) : part_(std::move(part)) {
  part_->activate();
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(*number_), cudaHostAllocPortable | cudaHostAllocMapped),
             "cudaHostAlloc");
  number_ = new (memory) std::atomic<std::uint32_t>(0);
}

HostFlag::~HostFlag() { cudaFreeHost(number_); }

void HostFlag::hold(cudaStream_t stream, std::uint32_t value) {
  const Driver& driver = part_->libraries().driver;
  void* address = nullptr;
  check_cuda(cudaHostGetDevicePointer(&address, number_, 0), "cudaHostGetDevicePointer");
  const CUresult result = driver.stream_wait_value(stream, reinterpret_cast<CUdeviceptr>(address),
                                                   value, CU_STREAM_WAIT_VALUE_GEQ);
  if (result == CUDA_ERROR_NOT_SUPPORTED) {
    auto awaited = std::make_unique<Awaited>(Awaited{number_, value});
    check_cuda(cudaLaunchHostFunc(stream, await, awaited.get()), "cudaLaunchHostFunc");
    awaited.release();  // the function deletes it
    return;
  }
  check_cuda(driver, result, "cuStreamWaitValue32");
}

void HostFlag::raise(std::uint32_t value) { number_->store(value, std::memory_order_release); }

}  // namespace emplace::calibrate

#include "cuda_queue.hpp"

#include "memory_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
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

// CUDA gives no address for no bytes, but an empty tensor has one.
std::size_t at_least_one(std::int64_t bytes) {
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

}  // namespace

CudaEvent::CudaEvent(std::shared_ptr<const GpuPart> part, bool timed) : part_(std::move(part)) {
  part_->activate();
  check_cuda(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
             "cudaEventCreateWithFlags");
}

CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

void CudaEvent::record(cudaStream_t stream) {
  check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
}

double CudaEvent::us_since(const CudaEvent& before) const {
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, before.event_, event_), "cudaEventElapsedTime");
  return 1000.0 * static_cast<double>(ms);
}

StreamGate::StreamGate(std::shared_ptr<const GpuPart> part) : part_(std::move(part)) {
  part_->activate();
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(*opened_), cudaHostAllocPortable | cudaHostAllocMapped),
             "cudaHostAlloc");
  opened_ = new (memory) std::atomic<std::uint32_t>(0);
}

StreamGate::~StreamGate() { cudaFreeHost(opened_); }

void StreamGate::hold(cudaStream_t stream) {
  const std::uint32_t value = *opened_ + 1;
  const Driver& driver = part_->libraries().driver;
  void* address = nullptr;
  check_cuda(cudaHostGetDevicePointer(&address, opened_, 0), "cudaHostGetDevicePointer");
  const CUresult result = driver.stream_wait_value(stream, reinterpret_cast<CUdeviceptr>(address),
                                                   value, CU_STREAM_WAIT_VALUE_GEQ);
  if (result == CUDA_ERROR_NOT_SUPPORTED) {
    auto awaited = std::make_unique<Awaited>(Awaited{opened_, value});
    check_cuda(cudaLaunchHostFunc(stream, await, awaited.get()), "cudaLaunchHostFunc");
    static_cast<void>(awaited.release());  // the function deletes it
    return;
  }
  check_cuda(driver, result, "cuStreamWaitValue32");
}

CudaQueue::CudaQueue(std::shared_ptr<const GpuPart> part)
    : part_(std::move(part)), stream_(part_->make_stream()) {}

CudaQueue::~CudaQueue() {
  cudaStreamSynchronize(stream_);
  if (cublas_ != nullptr) {
    part_->libraries().cublas.destroy(cublas_);
  }
  if (cudnn_ != nullptr) {
    part_->libraries().cudnn.destroy(cudnn_);
  }
  cudaStreamDestroy(stream_);
}

void CudaQueue::run(OpProgram& program, const OpBuffers& buffers) {
  part_->activate();
  static_cast<const CudaProgram&>(program).enqueue(*this, buffers);
}

void CudaQueue::copy(void* to, const void* from, std::int64_t bytes) {
  part_->activate();
  check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_),
             "cudaMemcpyAsync");
}

void CudaQueue::finish() { check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

cublasHandle_t CudaQueue::cublas() {
  const CublasLibrary& library = part_->libraries().cublas;
  if (cublas_ == nullptr) {
    part_->activate();
    check_cuda(library, library.create(&cublas_), "cublasCreate");
    if (!part_->is_whole()) {
      check_cuda(library, library.set_sm_count_target(cublas_, part_->multiprocessors()),
                 "cublasSetSmCountTarget");
    }
    check_cuda(library, library.set_stream(cublas_, stream_), "cublasSetStream");
  }
  return cublas_;
}

cudnnHandle_t CudaQueue::cudnn() {
  const CudnnLibrary& library = part_->libraries().cudnn;
  if (cudnn_ == nullptr) {
    part_->activate();
    check_cuda(library, library.create(&cudnn_), "cudnnCreate");
    check_cuda(library, library.set_stream(cudnn_, stream_), "cudnnSetStream");
  }
  return cudnn_;
}

std::unique_ptr<Memory> device_memory(CudaQueue& queue, std::int64_t bytes, bool random) {
  queue.part().activate();
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, at_least_one(bytes)), fmt::format("cudaMalloc of {} bytes", bytes));
  auto memory = std::make_unique<Memory>(data, bytes, [](void* own) { cudaFree(own); });
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
  return std::make_unique<Memory>(data, bytes, [](void* own) { cudaFreeHost(own); });
}

std::unique_ptr<Memory> pageable_memory(std::int64_t bytes) {
  void* data = ::operator new(at_least_one(bytes), std::nothrow);
  if (data == nullptr) {
    throw DeviceFailure(fmt::format("the host has no {} bytes of memory left", bytes));
  }
  std::memset(data, 0, at_least_one(bytes));  // written, so its pages are there
  return std::make_unique<Memory>(data, bytes, [](void* own) { ::operator delete(own); });
}

}  // namespace emplace::calibrate

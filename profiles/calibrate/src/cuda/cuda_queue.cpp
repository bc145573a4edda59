#include "cuda_queue.hpp"

#include "cuda_check.hpp"

#include <utility>

namespace emplace::calibrate {

CudaEvent::CudaEvent(std::shared_ptr<const GpuPart> part, bool timed) : part_(std::move(part)) {
  part_->activate();
  check_cuda(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
             "cudaEventCreateWithFlags");
}

CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

void CudaEvent::record(cudaStream_t stream) {
  check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
}

void CudaEvent::wait_on_host() const {
  check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize");
}

CudaQueue::CudaQueue(std::shared_ptr<const GpuPart> part)
    : part_(std::move(part)), stream_(part_->make_stream()), others_(part_) {}

CudaQueue::~CudaQueue() {
  // What the stream still waits for must come before the stream can end.
  if (waiter_.joinable()) {
    waiter_.request_stop();
    waiter_.join();
  }
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

std::shared_ptr<Event> CudaQueue::record() {
  auto event = std::make_shared<CudaEvent>(part_, false);
  event->record(stream_);
  return event;
}

void CudaQueue::wait(std::shared_ptr<Event> event) {
  part_->activate();
  if (const auto* own = dynamic_cast<const CudaEvent*>(event.get()); own != nullptr) {
    check_cuda(cudaStreamWaitEvent(stream_, own->get(), 0), "cudaStreamWaitEvent");
    return;
  }
  if (is_recording_) {
    throw DeviceFailure("a CUDA graph can't wait for work of the CPU");
  }
  others_.hold(stream_, ++num_held_);
  const std::scoped_lock lock(mutex_);
  awaited_.push_back(std::move(event));
  arrived_.notify_one();
  if (!waiter_.joinable()) {
    waiter_ = std::jthread([this](const std::stop_token& stop) { await_events_of_others(stop); });
  }
}

void CudaQueue::finish() {
  if (is_recording_) {
    throw DeviceFailure("a queue that is recorded runs nothing that could end");
  }
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

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

void CudaQueue::await_events_of_others(const std::stop_token& stop) {
  std::uint32_t arrived = 0;
  while (true) {
    std::shared_ptr<Event> next;
    {
      std::unique_lock lock(mutex_);
      if (!arrived_.wait(lock, stop, [this] { return !awaited_.empty(); })) {
        return;
      }
      next = std::move(awaited_.front());
      awaited_.pop_front();
    }
    try {
      next->wait_on_host();
    } catch (const DeviceFailure&) {
      // Whoever finishes that device's queue learns of it; this one must not hang.
    }
    others_.raise(++arrived);
  }
}

}  // namespace emplace::calibrate

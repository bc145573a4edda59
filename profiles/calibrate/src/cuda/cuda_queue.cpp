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

}  // namespace emplace::calibrate

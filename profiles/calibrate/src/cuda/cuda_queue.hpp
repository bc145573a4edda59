#pragma once

// A stream of a GPU as a Queue, with the handles of the libraries that enqueue on it.

#include "gpu_part.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <cstdint>
#include <memory>

namespace emplace::calibrate {

/// Marks a point in a stream.
class CudaEvent {
 public:
  /// Makes an event that can tell times if `timed`.
  CudaEvent(std::shared_ptr<const GpuPart> part, bool timed);
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream);

 private:
  std::shared_ptr<const GpuPart> part_;
  cudaEvent_t event_ = nullptr;
};

/// Runs work of one GPU or part in order.
class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(std::shared_ptr<const GpuPart> part);
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  void run(OpProgram& program, const OpBuffers& buffers) override;
  void copy(void* to, const void* from, std::int64_t bytes) override;
  void finish() override;

  const GpuPart& part() const { return *part_; }
  const std::shared_ptr<const GpuPart>& shared_part() const { return part_; }
  cudaStream_t stream() const { return stream_; }
  /// Returns handles that enqueue on this queue's stream.
  cublasHandle_t cublas();
  cudnnHandle_t cudnn();

 private:
  std::shared_ptr<const GpuPart> part_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
};

/// A program that a CudaQueue runs.
class CudaProgram : public OpProgram {
 public:
  virtual void enqueue(CudaQueue& queue, const OpBuffers& buffers) const = 0;
};

}  // namespace emplace::calibrate

#pragma once

// A stream of a GPU as a Queue, with the handles of the libraries that enqueue on it; what marks
// points in streams and holds them back; and memory of GPUs, and of the host for GPUs to copy.

#include "gpu_part.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <atomic>
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
  /// Returns the time between two events that have been reached.
  double us_since(const CudaEvent& before) const;

 private:
  std::shared_ptr<const GpuPart> part_;
  cudaEvent_t event_ = nullptr;
};

/// Holds streams back until the host lets them go, so that timed work begins once all of it is
/// enqueued.
class StreamGate {
 public:
  explicit StreamGate(std::shared_ptr<const GpuPart> part);
  ~StreamGate();
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;

  /// Makes what is enqueued on `stream` from now on wait for the next open().
  void hold(cudaStream_t stream);
  /// Lets all go that waits.
  void open() { opened_->fetch_add(1, std::memory_order_release); }

 private:
  std::shared_ptr<const GpuPart> part_;
  std::atomic<std::uint32_t>* opened_ = nullptr;  // how often, in memory that GPUs read
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

/// Returns memory of the queue's GPU, filled with random numbers if `random`; throws DeviceFailure.
std::unique_ptr<Memory> device_memory(CudaQueue& queue, std::int64_t bytes, bool random);

/// Returns memory of the host that stays where it is, which all GPUs reach; throws DeviceFailure.
std::unique_ptr<Memory> pinned_memory(std::int64_t bytes);

/// Returns memory of the host as programs usually have it, all of its pages present;
/// throws DeviceFailure.
std::unique_ptr<Memory> pageable_memory(std::int64_t bytes);

}  // namespace emplace::calibrate

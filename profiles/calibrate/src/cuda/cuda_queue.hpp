#pragma once

// A stream of a GPU as a Queue, with the handles of the libraries that enqueue on it.

#include "gpu_part.hpp"
#include "host_flag.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace emplace::calibrate {

/// Marks a point in a stream.
class CudaEvent final : public Event {
 public:
  /// Makes an event that can tell times if `timed`.
  CudaEvent(std::shared_ptr<const GpuPart> part, bool timed);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream);
  void wait_on_host() const override;

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
  std::shared_ptr<Event> record() override;
  void wait(std::shared_ptr<Event> event) override;
  void finish() override;

  const GpuPart& part() const { return *part_; }
  const std::shared_ptr<const GpuPart>& shared_part() const { return part_; }
  cudaStream_t stream() const { return stream_; }
  /// Returns handles that enqueue on this queue's stream.
  cublasHandle_t cublas();
  cudnnHandle_t cudnn();

  /// Says whether what is enqueued is recorded instead (Recording).
  void set_recording(bool is_recording) { is_recording_ = is_recording; }

 private:
  // Waits for events of other kinds of devices, one after another in the order in which the stream
  // waits for them, and raises the flag to as many as have come.
  void await_events_of_others(const std::stop_token& stop);

  std::shared_ptr<const GpuPart> part_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
  bool is_recording_ = false;

  HostFlag others_;
  std::uint32_t num_held_ = 0;
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<std::shared_ptr<Event>> awaited_;
  std::jthread waiter_;  // started by the first such event
};

/// A program that a CudaQueue runs.
class CudaProgram : public OpProgram {
 public:
  virtual void enqueue(CudaQueue& queue, const OpBuffers& buffers) const = 0;
};

}  // namespace emplace::calibrate

#pragma once

// A number that the host raises and streams wait for: how work of a GPU waits for work of the CPU,
// and how timed work is held back until all of it is enqueued.

#include "gpu_part.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace emplace::calibrate {

/// Holds a number in memory that GPUs read; 0 at first.
class HostFlag {
 public:
  explicit HostFlag(std::shared_ptr<const GpuPart> part);
  ~HostFlag();
  HostFlag(const HostFlag&) = delete;
  HostFlag& operator=(const HostFlag&) = delete;

  /// Makes what is enqueued on `stream` from now on wait until the number is at least `value`.
  void hold(cudaStream_t stream, std::uint32_t value);
  /// Raises the number to `value`.
  void raise(std::uint32_t value);

 private:
  std::shared_ptr<const GpuPart> part_;
  std::atomic<std::uint32_t>* number_ = nullptr;
};

}  // namespace emplace::calibrate

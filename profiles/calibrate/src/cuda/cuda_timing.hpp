#pragma once

// How long work occupies a GPU. By a profiler that names each kernel and copy and when it began and
// ended, if there is one; else by events in the queues.
//
// Before each run all of the cache is overwritten: in a step, too, most tensors come from memory.
// Without a profiler, runs are held back until all are enqueued, so that launches cost nothing
// that events would see.

#include "cuda_memory.hpp"
#include "cuda_queue.hpp"

#include <emplace/calibrate/activity_source.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace emplace::calibrate {

/// Times work of one GPU or part.
class CudaTimer {
 public:
  /// `activities` may be null or have none.
  CudaTimer(std::shared_ptr<const GpuPart> part, std::shared_ptr<ActivitySource> activities);

  /// Says whether a profiler tells the times.
  bool is_profiled() const;

  /// As ComputeDevice::time_runs().
  std::vector<TimedRun> time_runs(const CudaProgram& program, const OpBuffers& buffers,
                                  std::int32_t runs);
  /// As ComputeDevice::time_copies(). Copies of pageable memory, of which the host does a part, are
  /// timed by the host's clock, each from its own thread.
  std::vector<std::vector<TimedRun>> time_copies(std::span<const Copy> copies, std::int32_t runs);
  /// As ComputeDevice::launch_us(), and the same for launches that a CUDA graph makes.
  double launch_us();
  double replayed_launch_us();

 private:
  struct Lane;

  void flush();
  // Returns what the profiler recorded of each of `ids`, under which the same was launched.
  std::vector<TimedRun> profiled(std::span<const std::uint64_t> ids);
  double empty_kernel_us();

  std::shared_ptr<const GpuPart> part_;
  std::shared_ptr<ActivitySource> activities_;
  CudaQueue queue_;
  HostFlag start_;
  std::uint32_t num_starts_ = 0;
  std::unique_ptr<Memory> cache_filler_;
};

}  // namespace emplace::calibrate

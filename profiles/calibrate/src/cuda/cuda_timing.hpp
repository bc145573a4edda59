#pragma once

// How long work occupies a GPU. By a profiler that names each kernel and copy and when it began and
// ended, if there is one; else by events in the queues.
//
// The GPU is under load before it is timed, because clocks that it holds for milliseconds only are
// those of no step. What its clocks show before and after each run tells whether it held them.
// Without a profiler, runs are held back until all are enqueued, so that launches cost nothing that
// events would see.

#include "../device_figures.hpp"
#include "cuda_queue.hpp"

#include <emplace/calibrate/activity.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Times work of one GPU or part.
class CudaTimer {
 public:
  /// `activities` may be null or have none.
  CudaTimer(std::shared_ptr<const GpuPart> part, std::shared_ptr<ActivitySource> activities);

  /// Says whether a profiler tells the times.
  bool is_profiled() const;

  /// Returns why a profiler that was there does not tell the times any more; empty if it does.
  const std::string& profiler_failure() const { return profiler_failure_; }

  /// Returns bits of NVML's clocks event reasons: those seen while runs were throttled.
  std::uint64_t clock_reasons() const { return clock_reasons_; }

  /// As ComputeDevice::time_runs().
  std::vector<TimedRun> time_runs(const CudaProgram& program, const OpBuffers& buffers,
                                  std::int32_t runs, Caches caches);
  /// As ComputeDevice::time_copies(). A copy is enqueued on a stream of the GPU that makes it: the
  /// one that it comes from, or else where it goes. The host takes part in
  /// copies of pageable memory, so its clock times them, each in its own thread.
  std::vector<std::vector<TimedRun>> time_copies(std::span<const Copy> copies, std::int32_t runs);
  /// As ComputeDevice::launches().
  Launch launches();
  /// As ComputeDevice::message_us(), to another GPU.
  double message_us(CudaTimer& other);

 private:
  struct Mark;

  void enqueue_load(const CudaProgram& program, const OpBuffers& buffers);
  // Asks, under load, why the clocks are low.
  void ask_for_reasons(const CudaProgram& program, const OpBuffers& buffers);
  // Runs what is to be timed until the clocks are those under load.
  void hold_load(const CudaProgram& program, const OpBuffers& buffers);
  // Lets what `enqueue` holds back go once it has ended, even by throwing.
  void begin_together(const std::function<void()>& enqueue);
  // Runs what is enqueued meanwhile, all of it at once.
  void hold_back(const std::function<void()>& enqueue);
  void cool_caches();
  // Enqueues work whose time times_of() will tell.
  void enqueue_marked(Mark& mark, CudaQueue& queue, const std::function<void()>& enqueue);
  // Returns how long work took between marks, between which the same was launched: what the
  // profiler recorded of it, or else what events saw. A profiler that fails is not asked again.
  std::vector<TimedRun> times_of(const std::deque<Mark>& marks);
  std::vector<TimedRun> time_some(const CudaProgram& program, const OpBuffers& buffers,
                                  std::int32_t runs, Caches caches);
  double chain_us(int kernels, int units);

  std::shared_ptr<const GpuPart> part_;
  std::shared_ptr<ActivitySource> activities_;
  std::string profiler_failure_;
  CudaQueue queue_;
  StreamGate gate_;
  std::unique_ptr<Memory> cache_filler_;
  std::unique_ptr<Memory> stamps_;  // two for each run that is timed at a time
  double sustained_mhz_ = 0;        // under the last load; 0: not known yet
  std::uint64_t clock_reasons_ = 0;
};

}  // namespace emplace::calibrate

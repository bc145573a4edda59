#pragma once

// A GPU, or a part of one, as a ComputeDevice: its facts and programs (cuda_device.cpp), and times
// (cuda_timing.cpp).
//
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
#include <emplace/calibrate/cuda_device.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Runs ops on a GPU or part, and times them.
class CudaDevice final : public ComputeDevice {
 public:
  CudaDevice(std::shared_ptr<const GpuPart> part, const CudaOptions& options, std::string name);

  const DeviceFacts& facts() const override { return facts_; }
  std::unique_ptr<Memory> allocate(std::int64_t bytes, bool random) override;
  std::unique_ptr<Memory> allocate_on_host(std::int64_t bytes, bool pinned) override;
  /// Of the ways in which cuDNN runs a convolution, it takes the one that is fastest here.
  std::unique_ptr<OpProgram> compile(const OpSite& site) override;
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<CudaQueue>(part_); }
  std::vector<TimedRun> time_runs(OpProgram& program, const OpBuffers& buffers, std::int32_t runs,
                                  Caches caches) override;
  /// A copy is enqueued on a stream of the GPU that makes it: the one that it comes from, or else
  /// where it goes. The host takes part in copies of pageable memory, so its clock times them, each
  /// in its own thread.
  std::vector<std::vector<TimedRun>> time_copies(std::span<const Copy> copies,
                                                 std::int32_t runs) override;
  Launch launches() override;
  std::optional<double> message_us(ComputeDevice& other) override;
  std::string throttled_by() const override;

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
  // Returns the time of the fastest of some runs, or infinity if it fails in spite of its promise.
  double trial_us(const CudaProgram& program, const OpBuffers& buffers);
  std::vector<TimedRun> time_some(const CudaProgram& program, const OpBuffers& buffers,
                                  std::int32_t runs, Caches caches);
  double chain_us(int kernels, int units);

  std::shared_ptr<const GpuPart> part_;
  bool tf32_;
  std::shared_ptr<ActivitySource> activities_;  // null: events tell the times
  CudaQueue queue_;
  StreamGate gate_;
  DeviceFacts facts_;
  std::unique_ptr<Memory> cache_filler_;
  std::unique_ptr<Memory> stamps_;   // two for each run that is timed at a time
  double sustained_mhz_ = 0;         // under the last load; 0: not known yet
  std::uint64_t clock_reasons_ = 0;  // NVML's bits, seen while runs were throttled
};

}  // namespace emplace::calibrate

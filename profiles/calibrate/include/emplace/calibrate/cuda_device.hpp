#pragma once

// The GPUs of this machine as ComputeDevices, by CUDA. A GPU can also be cut into parts: disjoint
// sets of its multiprocessors (green contexts), each of which is then a device of its own, so that
// a machine with one GPU can provide several devices. Parts share the memory, its bandwidth and the
// copy engines.
//
// Convolutions run on cuDNN, matrix products on cuBLAS, and ops that memory bounds on kernels that
// only move memory. What is enqueued can be recorded into a CUDA graph and replayed, so that the
// host launches once for all of it.

#include <emplace/calibrate/activity_source.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// How GPUs are used.
struct CudaOptions {
  /// Lets tensor cores round the factors of products of float32 to TF32, as frameworks do by
  /// default in convolutions. GPUs that have none compute in float32.
  bool tf32 = true;
  /// Cuts each GPU into this many parts of one size; 1 leaves it whole.
  std::int32_t parts = 1;
  /// Measures how long kernels and copies took. If it can't, or is null, events in the queues do,
  /// which also count the gaps between an op's kernels. Shared by all devices.
  std::shared_ptr<ActivitySource> activities{};
};

/// The GPUs of this machine, or why there are none to use.
struct CudaDevices {
  /// Called "gpu:0", "gpu:1" and so on, parts of one GPU side by side.
  std::vector<std::unique_ptr<ComputeDevice>> devices{};
  /// What is missing and how to get it; empty if there are devices.
  std::string missing{};
};

/// Opens all GPUs and the libraries that they need. A machine without them, or a program built
/// without the CUDA toolkit, is not a failure: the result says what is missing. Throws
/// DeviceFailure if a GPU is present but does not work, and kUsage if one can't be cut into that
/// many parts.
CudaDevices cuda_devices(const CudaOptions& options);

/// Returns what ComputeDevice::launch_us() would be for kernels of a Recorded. Requires: `device`
/// is from cuda_devices(). Like launch_us(), call it on devices without `activities`, because a
/// profiler slows launches down.
double replayed_launch_us(ComputeDevice& device);

/// Recorded work, to be replayed any number of times.
class Recorded {
 public:
  virtual ~Recorded() = default;
  /// Enqueues all of it on the first of the recorded queues, which it occupies until it has ended.
  virtual void replay() = 0;
};

/// Records what is enqueued on queues of CUDA devices instead of running it. It records runs of
/// programs, copies between GPUs and pinned memory, and events of recorded queues that recorded
/// queues wait for. Work on the CPU cannot be recorded: a queue that waits for an event of the CPU,
/// or from before the recording, fails with DeviceFailure, as does finish().
class Recording {
 public:
  /// Begins to record on all of `queues`, which must outlive the recorded work.
  explicit Recording(std::span<Queue* const> queues);
  /// Drops what was recorded unless end() was called.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Ends the recording; the queues then run their work again.
  std::unique_ptr<Recorded> end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace emplace::calibrate

#pragma once

// Runs a planned step on real devices repeatedly and times it. Where all devices are GPUs
// the step is a CUDA graph, which the host launches at once; where CPUs take part, it enqueues each
// step.

#include "execution_plan.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace emplace::calibrate {

/// Holds the memory, programs and queues of a plan. Beside GPUs, tensors of a CPU are in pinned
/// memory. Not thread-safe.
class PlanRunner {
 public:
  /// Prepares `plan` of `graph` on `devices`, all of which must outlive the runner. Throws
  /// DeviceFailure where a device has too little memory, or cannot run an op, which it
  /// names.
  PlanRunner(const OpGraph& graph, const ExecutionPlan& plan,
             IdSpan<DeviceId, ComputeDevice* const> devices);
  ~PlanRunner();
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  /// Runs `warm_up` steps, then `steps` more, and returns how long each of those took, in
  /// microseconds of the host's clock, from its first work to its last. Once `stop`, if it is not
  /// null, is true, no other step begins; one that has begun is not counted, since devices may
  /// have left out some of it.
  std::vector<double> run(std::int32_t warm_up, std::int32_t steps,
                          const std::atomic<bool>* stop = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace emplace::calibrate

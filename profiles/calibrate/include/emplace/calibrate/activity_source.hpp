#pragma once

// Where recordings of a GPU's activities (activity.hpp) come from: CUPTI, or nowhere.
//
//   const auto source = open_cupti();            // before the first CUDA call of the program
//   { const ExternalId id(*source, 42); launch_the_op(); }
//   synchronize_all_devices();
//   const auto times = device_times(source->take());
//   times.at(42).busy_us;
//
// CUPTI allows one profiler in a process: under Nsight, compute-sanitizer or another tool the
// source records nothing and says so, and the program continues without. Reading counters would
// need privileges; nothing here does. A process that was traced stays slower even after the source
// is gone, so time the host's work (launches) in a run without one.

#include <emplace/calibrate/activity.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace emplace::calibrate {

/// Records what GPUs do while it lives.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  /// Returns why nothing is recorded, or nothing if all is well.
  virtual std::string_view why_none() const = 0;
  /// Gives the calling thread's launches the external id `id` until the matching pop(); throws
  /// DeviceFailure (compute_device.hpp) if CUPTI refuses, as take() does.
  virtual void push(std::uint64_t id) = 0;
  virtual void pop() = 0;
  /// Returns what was recorded since the last call. Requires: the devices have been synchronised;
  /// otherwise work in flight is missing.
  virtual ActivityLog take() = 0;
};

/// Gives its thread's launches an external id while it lives.
class ExternalId {
 public:
  ExternalId(ActivitySource& source, std::uint64_t id) : source_(source) { source_.push(id); }
  ~ExternalId() { source_.pop(); }
  ExternalId(const ExternalId&) = delete;
  ExternalId& operator=(const ExternalId&) = delete;

 private:
  ActivitySource& source_;
};

/// Returns CUPTI, its library opened by name, or, where that fails, a source that records nothing
/// and says why. One at a time in a process.
std::unique_ptr<ActivitySource> open_cupti();

/// Returns `source` so that its records of the machine - clocks, devices, PCIe and NVLinks - are
/// also added to `machine`, which must outlive it.
std::unique_ptr<ActivitySource> keep_machine(std::unique_ptr<ActivitySource> source,
                                             ActivityLog& machine);

/// Returns a source that records nothing because of `reason`.
std::unique_ptr<ActivitySource> no_activities(std::string reason);

}  // namespace emplace::calibrate

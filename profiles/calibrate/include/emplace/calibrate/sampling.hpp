#pragma once

// How single runs become samples: each op or copy is warmed up, run at least 20 times, and
// summarized by its median. Runs in which the device was throttled or the profiler lost records are
// dropped, and counted; but if a device is throttled whenever it runs an op, a step would be, too,
// so these runs are kept and reported. A sample whose kept runs still vary a lot is measured again
// with more runs, and reported as unstable if that does not help.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/samples.hpp>
#include <emplace/profiles/op_key.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// How long to measure.
struct SamplingOptions {
  std::int32_t warm_up_runs = 3;
  std::int32_t runs = 20;         ///< of each op and copy
  double stable_deviation = 0.1;  ///< a sample of more relative deviation is measured again
  std::int32_t attempts = 3;      ///< each with twice as many runs as the one before
  std::int64_t max_copy_bytes = std::int64_t{1} << 30;
  /// Gets each sample of an op as soon as it is there, so that nothing is lost. May be empty.
  std::function<void(const std::string& device, const OpSample& sample)> on_sample{};
  /// Ends measuring early when it turns true (Ctrl-C); what was measured is kept. May be null.
  const std::atomic<bool>* stop = nullptr;

  /// Returns whether measuring should end.
  bool is_stopped() const { return stop != nullptr && *stop; }
};

/// Summarizes runs of one op or copy; `median_us` is 0 if none was kept.
Summary summarize(std::span<const TimedRun> runs);

/// What is measured next.
struct ProgressNote {
  std::string what{};  ///< "cpu:0: op 12 of 340: conv2d [64, 3, 299, 299, ...]"
  /// The approximate share of the stage's work that is done: 0 at its first note, below 1.
  double done = 0;
};

/// Receives each note before the measurement that it announces.
using Progress = std::function<void(const ProgressNote& note)>;

/// The results for the ops to be measured.
struct OpSamples {
  std::vector<OpSample> samples{};
  std::vector<OpSite> unsupported{};    ///< those that nothing on the device can run
  std::vector<std::string> unstable{};  ///< those left out, and why
  std::vector<OpKey> below_clock{};     ///< of samples whose runs were all throttled
  std::int64_t not_measured = 0;        ///< ops that were left when measuring ended early
};

/// Measures each of `sites` on `device`. An op that fails, or stays unstable, is left out and
/// reported. After a DeviceLost, the others are not measured.
OpSamples measure_ops(ComputeDevice& device, std::span<const OpSite> sites,
                      const SamplingOptions& options, const Progress& progress);

/// The results for the copies to be measured.
struct CopySamples {
  std::vector<CopySample> samples{};
  std::vector<Message> messages{};
  std::vector<std::string> unstable{};
  bool is_complete = true;  ///< false if measuring was stopped
};

/// Measures copies within each GPU and between each ordered pair of `devices`, from 4 B by factors
/// of 4 to `max_copy_bytes` (less where memory is short), alone; and large ones together with a
/// second copy: the opposite one, those from the same device to each other device, those from each
/// other device to the same, and one between two other devices, if a GPU is among them. If one end
/// is a CPU, its memory is measured pinned and pageable. Messages go between each two devices that
/// can wait for each other.
CopySamples measure_copies(std::span<ComputeDevice* const> devices, const SamplingOptions& options,
                           const Progress& progress);

}  // namespace emplace::calibrate

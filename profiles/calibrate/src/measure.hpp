#pragma once

// What measurements share: the memory of an op outside of a graph, and the discipline to run until
// the runs agree, and to say so where they do not.

#include <emplace/calibrate/sampling.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Returns "conv2d [64, 3, 299, 299]".
std::string describe(const OpSite& site);

/// Owns memory for everything that one program reads and writes; inputs are random.
class ProgramMemory {
 public:
  ProgramMemory(ComputeDevice& device, const OpSite& site, std::int64_t workspace_bytes);

  const OpBuffers& buffers() const { return buffers_; }

 private:
  void* add(ComputeDevice& device, std::int64_t bytes, bool random);

  std::vector<std::unique_ptr<Memory>> memory_;
  OpBuffers buffers_;
};

/// Calls `time_runs(n)` until its runs agree, with twice as many each time, and returns the summary
/// of least relative deviation among those that kept at least half of `options.runs`, or else among
/// all. It counts the throttled and lost runs of all attempts.
Summary measure(const SamplingOptions& options,
                const std::function<std::vector<TimedRun>(std::int32_t)>& time_runs);

/// Says why a sample is of no use; empty if it is of use.
std::string why_unstable(const Summary& summary, const SamplingOptions& options);

}  // namespace emplace::calibrate

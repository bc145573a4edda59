#pragma once

// The discipline that ops and copies share: run until the runs agree, and say so where they do not.

#include <emplace/calibrate/sampling.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Calls `time_runs(n)` until its runs agree, with twice as many each time, and returns the summary
/// of least relative deviation among those that kept at least half of `options.runs`, or else among
/// all. It counts the throttled and lost runs of all attempts.
Summary measure(const SamplingOptions& options,
                const std::function<std::vector<TimedRun>(std::int32_t)>& time_runs);

/// Says why a sample is of no use; empty if it is of use.
std::string why_unstable(const Summary& summary, const SamplingOptions& options);

}  // namespace emplace::calibrate

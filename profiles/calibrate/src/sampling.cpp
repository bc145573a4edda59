#include "measure.hpp"

#include <emplace/base/quantiles.hpp>
#include <emplace/calibrate/sampling.hpp>
#include <emplace/profiles/op_key.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

namespace emplace::calibrate {
namespace {

// A run that takes so many times the median was interrupted by something else. Without it the
// median stays the same, but the relative deviation does not.
constexpr double kOutlier = 3;

// The standard deviation of normal errors whose absolute values have the median 1. A run that was
// interrupted does not move it, as it would a root of mean squares.
constexpr double kDeviationOfMedianDeviation = 1.4826;

// Runs of one length differ by this much on any clock, so for shorter ops a relative deviation
// means nothing.
constexpr double kClockNoiseUs = 0.1;

// What the time of an op is guessed from before it is measured: the operations that take as long as
// a byte, and the bytes that take as long as compiling and launching it.
constexpr double kFlopsPerByte = 10;
constexpr double kBytesPerOp = 1e6;

double guessed_work(const OpSite& site) {
  const auto bytes = static_cast<double>(site.op.bytes_read + site.op.bytes_written);
  return kBytesPerOp + bytes + static_cast<double>(site.op.flops) / kFlopsPerByte;
}

}  // namespace

Summary summarize(std::span<const TimedRun> runs) {
  Summary summary;
  std::vector<double> kept;
  std::vector<double> throttled;
  std::vector<double> clocks;
  for (const TimedRun& run : runs) {
    if (run.quality != RunQuality::kLost && run.mhz > 0) {
      clocks.push_back(run.mhz);
    }
    switch (run.quality) {
      case RunQuality::kGood:
        kept.push_back(run.us);
        break;
      case RunQuality::kThrottled:
        throttled.push_back(run.us);
        break;
      case RunQuality::kLost:
        ++summary.lost;
        break;
    }
  }
  summary.throttled = static_cast<std::int32_t>(throttled.size());
  summary.mhz = clocks.empty() ? 0 : median(std::move(clocks));
  if (kept.empty()) {
    summary.below_clock = !throttled.empty();
    kept = std::move(throttled);
  }
  if (kept.empty()) {
    return summary;
  }
  const double typical = median(kept);
  summary.interrupted = static_cast<std::int32_t>(
      std::erase_if(kept, [&](double us) { return us > kOutlier * typical; }));
  summary.median_us = median(kept);
  summary.runs = static_cast<std::int32_t>(kept.size());
  if (summary.median_us > 0) {
    std::vector<double> deviations;
    std::ranges::transform(kept, std::back_inserter(deviations),
                           [&](double us) { return std::abs(us - summary.median_us); });
    summary.relative_deviation =
        kDeviationOfMedianDeviation * median(std::move(deviations)) / summary.median_us;
  }
  return summary;
}

std::string describe(const OpSite& site) {
  return fmt::format("{} [{}]", site.op.kind, fmt::join(site.op.shape, ", "));
}

ProgramMemory::ProgramMemory(ComputeDevice& device, const OpSite& site,
                             std::int64_t workspace_bytes) {
  for (const Output& input : site.inputs) {
    buffers_.inputs.push_back(add(device, input.bytes, true));
  }
  for (const Output& output : site.op.outputs) {
    buffers_.outputs.push_back(add(device, output.bytes, false));
  }
  buffers_.state = add(device, site.op.persistent_bytes, true);
  buffers_.workspace = add(device, workspace_bytes, false);
}

void* ProgramMemory::add(ComputeDevice& device, std::int64_t bytes, bool random) {
  if (bytes == 0) {
    return nullptr;
  }
  return memory_.emplace_back(device.allocate(bytes, random))->data();
}

Summary measure(const SamplingOptions& options,
                const std::function<std::vector<TimedRun>(std::int32_t)>& time_runs) {
  const auto has_enough = [&](const Summary& summary) {
    return summary.runs > 0 && summary.runs >= options.runs / 2;
  };
  // Few runs agree easily, a single one always does, so many count more than their agreement.
  const auto is_better = [&](const Summary& summary, const Summary& than) {
    if (has_enough(summary) != has_enough(than)) {
      return has_enough(summary);
    }
    return than.runs == 0 ||
           (summary.runs > 0 && summary.relative_deviation < than.relative_deviation);
  };
  Summary best;
  std::int32_t throttled = 0;
  std::int32_t lost = 0;
  std::int32_t runs = options.runs;
  for (std::int32_t attempt = 0; attempt < options.attempts; ++attempt, runs *= 2) {
    const Summary summary = summarize(time_runs(runs));
    throttled += summary.throttled;
    lost += summary.lost;
    if (is_better(summary, best)) {
      best = summary;
    }
    if ((has_enough(best) && best.relative_deviation <= options.stable_deviation) ||
        options.is_stopped()) {
      break;
    }
  }
  best.throttled = throttled;
  best.lost = lost;
  return best;
}

std::string why_unstable(const Summary& summary, const SamplingOptions& options) {
  if (summary.runs == 0) {
    return fmt::format("the profiler lost all {} runs", summary.lost);
  }
  if (summary.relative_deviation > 3 * options.stable_deviation &&
      summary.relative_deviation * summary.median_us > kClockNoiseUs) {
    return fmt::format("{:.4g} us with a relative deviation of {:.0f} % over {} runs",
                       summary.median_us, 100 * summary.relative_deviation, summary.runs);
  }
  return "";
}

namespace {

// Adds what becomes of an op; returns false if it was not measured, since measuring is to end.
bool measure_op(ComputeDevice& device, const OpSite& site, const SamplingOptions& options,
                OpSamples& result) {
  try {
    const std::unique_ptr<OpProgram> program = device.compile(site);
    if (!program) {
      result.unsupported.push_back(site);
      return true;
    }
    const ProgramMemory memory(device, site, program->workspace_bytes());
    device.time_runs(*program, memory.buffers(), options.warm_up_runs, Caches::kCold);
    const Summary summary = measure(options, [&](std::int32_t runs) {
      return device.time_runs(*program, memory.buffers(), runs, Caches::kCold);
    });
    const Summary warm =
        summarize(device.time_runs(*program, memory.buffers(), options.runs, Caches::kWarm));
    if (options.is_stopped()) {
      return false;  // of fewer runs than were wanted
    }
    if (const std::string why = why_unstable(summary, options); !why.empty()) {
      throw DeviceFailure(why);
    }
    if (summary.below_clock) {
      result.below_clock.push_back(key_of(site.op));
    }
    result.samples.push_back({.site = site,
                              .library = std::string(program->library()),
                              .time = summary,
                              .warm_us = warm.median_us});
    if (options.on_sample) {
      options.on_sample(device.facts().name, result.samples.back());
    }
  } catch (const DeviceFailure& failure) {
    result.unstable.push_back(fmt::format("{}: {}", describe(site), failure.what()));
    return dynamic_cast<const DeviceLost*>(&failure) == nullptr;
  }
  return true;
}

}  // namespace

OpSamples measure_ops(ComputeDevice& device, std::span<const OpSite> sites,
                      const SamplingOptions& options, const Progress& progress) {
  OpSamples result;
  double all_work = 0;
  for (const OpSite& site : sites) {
    all_work += guessed_work(site);
  }
  double work = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    progress({.what = fmt::format("{}: op {} of {}: {}", device.facts().name, i + 1, sites.size(),
                                  describe(sites[i])),
              .done = work / all_work});
    if (options.is_stopped() || !measure_op(device, sites[i], options, result)) {
      result.not_measured = static_cast<std::int64_t>(sites.size() - i);
      break;
    }
    work += guessed_work(sites[i]);
  }
  return result;
}

}  // namespace emplace::calibrate

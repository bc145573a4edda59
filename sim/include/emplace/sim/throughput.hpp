#pragma once

// How often a step ends when steps follow one another without end and may overlap
// (repeated_steps.hpp), as in training and serving. A placement then has a period: the time from
// the end of one step to that of the next. It is at least the load of the fullest resource, which
// is what a device or a link does for one step.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace emplace {

/// Most steps in flight that a user may ask for.
inline constexpr std::int64_t kMaxStepsInFlight = 64;

/// Returns how many steps in flight keep `devices` busy where each has a stage of a pipeline: as
/// many as have a micro-batch of some replica for each device, 2 to kMaxStepsInFlight.
std::int64_t steps_in_flight_for(const Problem& step, std::span<const DeviceId> devices);

/// Returns the problem of `count` such steps, in which copies of an op are in its group. So
/// placements of `step` are placements of it. Throws and requires as repeated_steps() does.
Problem repeated(const Problem& step, std::int64_t count, std::int64_t in_flight);

/// Describes how often a step ends.
struct Throughput {
  StepStatus status = StepStatus::kOk;
  double period_us = 0;    ///< from the end of one step to the end of the next, in the long run
  std::int64_t steps = 0;  ///< that were simulated
  /// Whether the times between ends of the steps in the middle repeat; otherwise the period is
  /// their mean, or the load if that is more.
  bool repeats = false;
  double load_us = 0;     ///< of the fullest resource in a step; the period is not shorter
  std::string fullest{};  ///< its name: a device or a link
};

/// Simulates eight steps of a placement or more, and twice as many until the period repeats or they
/// would have over a million ops. O(steps) simulations of one step. Requires: a valid device for
/// each group.
Throughput measure_throughput(const Problem& step, const Placement& placement,
                              std::int64_t in_flight);

/// Returns a lower bound on the periods of all placements on `devices`, in microseconds: all
/// devices share the work of a step, one device has all ops of a group, and the longest path from a
/// first op to the end of its step takes at most `in_flight` periods. O(ops * kinds of devices +
/// edges). Requires: at least one device.
double period_bound_us(const Problem& step, std::span<const DeviceId> devices,
                       std::int64_t in_flight);

}  // namespace emplace

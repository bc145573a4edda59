#pragma once

// Validates the simulator on a machine: placements are simulated on the machine's profile and run
// on its devices, and the two step times compared. Ops are compared one by one as well, by class
// and by cost source (docs/concepts/costs.md).
//
// Each device runs its ops in the order in which the simulated ones started.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/sampling.hpp>
#include <emplace/profiles/device_profile.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// How much to run.
struct ValidationOptions {
  std::int32_t random_placements = 8;
  std::uint64_t seed = 0;
  std::int32_t warm_up_steps = 2;
  std::int32_t max_steps = 20;
  std::int32_t min_steps = 3;
  double seconds_per_placement = 2;  ///< within the bounds on steps
  SamplingOptions sampling{};        ///< of ops
};

/// A placement and where it comes from.
struct NamedPlacement {
  std::string name{};
  Placement placement{};
};

/// Returns placements with different bottlenecks: each device alone; for each ordered pair of
/// devices the groups cut in two along their topological order, so that the first takes half as
/// long as the second, as long, and twice as long; and random ones, on all devices of the profile
/// that agents may choose. The same for the same seed.
std::vector<NamedPlacement> validation_placements(const Problem& problem,
                                                  std::int32_t random_placements,
                                                  std::uint64_t seed);

/// The predicted and the measured time of one placement.
struct ValidatedStep {
  std::string placement{};
  double predicted_us = 0;
  double measured_us = 0;         ///< median of the steps
  double relative_deviation = 0;  ///< of the steps
  std::int32_t steps = 0;

  /// Returns (predicted - measured) / measured.
  double error() const { return predicted_us / measured_us - 1; }
};

/// How far predicted costs of distinct ops are from new measurements.
struct ValidatedOps {
  std::string device{};
  OpClass op_class = OpClass::kOther;
  CostSource source = CostSource::kGuess;
  std::int32_t ops = 0;   ///< distinct keys
  double mean_error = 0;  ///< of |predicted - measured| / measured
  double max_error = 0;
};

/// The result of validating one graph.
struct Validation {
  std::string graph{};
  std::vector<ValidatedStep> steps{};
  std::vector<ValidatedOps> ops{};      ///< by device, class and cost source
  std::vector<std::string> left_out{};  ///< placements and ops, and why
  /// The mean of |error()|; none without steps.
  std::optional<double> mean_step_error{};
};

/// Simulates and runs `placements` of `problem`. `devices` are those of the problem's cluster, in
/// its order. A placement that does not fit into a memory, or whose simulated step takes no time,
/// is left out.
Validation validate_steps(const std::string& graph, const Problem& problem,
                          std::span<const NamedPlacement> placements,
                          std::span<ComputeDevice* const> devices, const ValidationOptions& options,
                          const Progress& progress);

/// Measures the distinct ops of `problem` and adds to `validation` how far off the predicted costs
/// are. Separate from the steps, because a profiler that times ops slows steps down.
void validate_ops(const Problem& problem, std::span<ComputeDevice* const> devices,
                  const ValidationOptions& options, const Progress& progress,
                  Validation& validation);

}  // namespace emplace::calibrate

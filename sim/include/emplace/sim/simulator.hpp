#pragma once

// How long one step of a problem takes under a placement, and how much memory each device needs.
//
// The cluster chooses the rules (docs/concepts/simulation.md): `placeto` reproduces the simulator
// released with Placeto (Addanki et al. 2019) bit for bit; `physical` is a machine of links that
// transfers share, copy engines, launches and hard memory limits; `grappler` has a serial channel
// for each pair of devices. A Simulator is one thread's workspace: make one for each thread and
// reuse it. After the first runs it allocates nothing. An out-of-memory placement is a result, not
// an error, and its time is still computed.
//
// Complexity: O(ops + edges) for a fixed number of devices, plus O(devices) for each event of
// `placeto`, or O(busy links x busy routes) for each transfer of `physical`.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstdint>
#include <memory>

namespace emplace {

/// The result of one run: views into the Simulator's workspace, valid until its next run.
struct SimResult {
  StepStatus status = StepStatus::kOk;
  double makespan_us = 0;  ///< duration of the step
  IdSpan<OpId, const double> start_us;
  IdSpan<OpId, const double> end_us;
  IdSpan<DeviceId, const std::int64_t> peak_bytes;  ///< the most that was taken at once
  DeviceId worst_device = 0;                        ///< where memory is exceeded most, or fullest
  std::int64_t bytes_over = 0;  ///< sum over devices of what exceeds the capacity
  bool is_cut_off = false;      ///< the step takes the cut-off or longer; see Simulator::run()
};

class Engine;  // private

/// Simulates placements of one problem.
class Simulator {
 public:
  /// Prepares a workspace. Requires: `problem` outlives it.
  explicit Simulator(const Problem& problem);

  /// Prepares a workspace in which ops have other costs, which may change between runs
  /// (draws.hpp). Everything else follows the problem's own: priorities and groups' costs are
  /// plans. Requires: both outlive it; costs for each op and profile of the problem, not negative,
  /// small enough for exact sums.
  Simulator(const Problem& problem, const CostTable& costs);

  Simulator(Simulator&&) noexcept;
  ~Simulator();

  /// Simulates one step. Requires: a valid device for each group.
  const SimResult& run(const Placement& placement);

  /// Does the same if the step takes less than `cutoff_us`. If not, the result `is_cut_off`, its
  /// makespan is `cutoff_us`, and nothing else in it is valid. That may take less time, for
  /// searches that only need to know whether a placement is better than another one: the `physical`
  /// model ends at that moment.
  const SimResult& run(const Placement& placement, double cutoff_us);

  /// Simulates one step and returns everything that happened in it. Requires: as run().
  StepRecord record(const Placement& placement);

 private:
  const Problem& problem_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace emplace

#pragma once

// How far the time of a step may be from the simulated one, because costs are not exact.
//
// A cost may have a relative deviation s, its standard deviation over the cost. A draw is a
// simulation in which every such cost c is drawn anew, log-normally with mean c and standard
// deviation s c:
//
//     c F,   ln F normal with variance v = ln(1 + s^2) and mean -v / 2.
//
// Errors of times are ratios (an efficiency that is off, a clock that is slower), so costs are
// multiplied by a factor and never become negative. Errors with a common cause share a factor: a
// measured cost has its own, but all costs of one roofline share one, because a wrong efficiency is
// wrong for all its ops. Otherwise the errors of a thousand ops would cancel out. Devices of one
// class share their factors, so two placements are compared by where they put ops, not by luck
// (common random numbers). Launches, gaps and transfers are exact, and so are priorities: they are
// set before the step. Draws do not show how wrong the rules of the simulation are.
//
// Deterministic: each draw has its own random stream, derived from the seed and its number, so
// neither the threads nor the number of draws change its random numbers. Complexity: one
// simulation for each draw and placement, in parallel in the caller's oneTBB arena; each thread
// has a copy of the costs and a Simulator, and allocates nothing more.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// The largest number of draws.
inline constexpr std::int64_t kMaxDraws = 1'000'000;

/// The number of draws, and their seed.
struct DrawOptions {
  std::int64_t draws = 1000;  ///< 1 to kMaxDraws
  std::uint64_t seed = 0;     ///< different seeds give unrelated costs
};

/// The results of one placement, by draw.
struct Draws {
  std::vector<double> makespan_us{};
  std::vector<StepStatus> status{};  ///< memory depends on times too
};

/// Simulates every placement in the same draws of `problem`. Requires: valid placements.
std::vector<Draws> simulate_draws(const Problem& problem, std::span<const Placement> placements,
                                  const DrawOptions& options);

/// Returns the number of ops whose cost varies between draws on the device where they are
/// placed.
OpId num_uncertain_costs(const Problem& problem, const Placement& placement);

/// Describes the distribution of the makespan. The quantile q of n draws is the ceil(q n)-th
/// smallest: a makespan that occurred, not one between two.
struct DrawSummary {
  double mean_us = 0;
  double standard_deviation_us = 0;  ///< with n - 1; 0 for one draw
  double median_us = 0;
  double p05_us = 0;               ///< the 5 % quantile
  double p95_us = 0;               ///< the 95 % quantile
  std::int64_t out_of_memory = 0;  ///< draws that did not fit; their times still count
};

/// Summarizes the draws of one placement. Requires: at least one.
DrawSummary summarize(const Draws& draws);

/// How two placements compare. One beats the other in a draw if its step is shorter, or if only
/// the other is out of memory; ties, and draws in which both are out of memory, count half.
struct DrawComparison {
  double probability = 0;         ///< that the first beats the second
  double probability_low = 0;     ///< its 95 % interval (Wilson 1927): narrower with more draws
  double probability_high = 0;    ///< the other end
  double mean_difference_us = 0;  ///< of makespans, first minus second
};

/// Compares two placements. Requires: both come from one call of simulate_draws().
DrawComparison compare(const Draws& first, const Draws& second);

}  // namespace emplace

#pragma once

// The best placement that a search has found so far, and how it came to it. It is one that fits
// into memory, if any was found.

#include <emplace/agents/evaluation.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace emplace::agents {

/// Keeps the best placement and its history.
class Incumbent {
 public:
  /// Describes a placement that was better than all before it.
  struct Improvement {
    std::int64_t evaluations = 0;  ///< made until it was found
    Evaluation evaluation{};
  };

  /// `any_device`: whether placements may use devices that are not placeable. Requires: `problem`
  /// outlives it.
  Incumbent(const Problem& problem, bool any_device)
      : problem_(&problem), any_device_(any_device) {}

  /// Throws kUnsupported if the placement uses a device that is not placeable, and may not.
  /// Requires: a device for each group.
  void check(const Placement& placement) const;

  /// Returns whether `evaluation` is better than the best.
  bool improved_by(const Evaluation& evaluation) const {
    return evaluation.has_step() && evaluation.better_than(evaluation_);
  }

  /// Keeps a placement if it is better than the best; of equals the earliest stays. Returns whether
  /// it is. Requires: check() accepts the placement.
  bool update(const Placement& placement, const Evaluation& evaluation, std::int64_t evaluations);

  /// Returns the best placement; empty before the first.
  const std::optional<Placement>& placement() const { return placement_; }

  /// Returns its evaluation.
  const Evaluation& evaluation() const { return evaluation_; }

  /// Returns the improvements so far: each is better than the one before, the last is the best. In
  /// a restored search the first is the best one before it was saved.
  const std::vector<Improvement>& improvements() const { return improvements_; }

  /// Returns the number of evaluations until the best was found; 0 before the first.
  std::int64_t evaluations_to_best() const { return evaluations_to_within(0); }

  /// Returns the number of evaluations until a placement was found whose objective is within
  /// `share` of the best one (0.02 for 2 %). If the best fits, so does that placement.
  std::int64_t evaluations_to_within(double share) const;

  /// Records a proof that no placement that fits the placeable devices takes less than `us`
  /// microseconds. The best placement is optimal if it takes no longer.
  void prove_bound(double us) { proven_bound_us_ = std::max(proven_bound_us_, us); }

  /// Returns the largest bound that was proven; 0 if none.
  double proven_bound_us() const { return proven_bound_us_; }

 private:
  const Problem* problem_;
  bool any_device_;
  std::optional<Placement> placement_;
  Evaluation evaluation_;
  std::vector<Improvement> improvements_;
  double proven_bound_us_ = 0;
};

}  // namespace emplace::agents

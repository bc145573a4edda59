#pragma once

// What placeto-joint adds to an episode: before it, the grouper samples a coarser grouping; after
// it, the episode's best time gives the advantage of that sample.

#include "placeto/edge_contraction.hpp"
#include "placeto/environment.hpp"
#include "placeto/grouper.hpp"
#include "placeto/options.hpp"
#include "policy_gradient/baseline.hpp"

#include <optional>

namespace emplace::agents::placeto {

/// Holds the state of the grouping of one problem from episode to episode.
class Regrouping {
 public:
  Regrouping(const Problem& problem, const Options& options);

  /// Samples coarser groups and returns an environment that visits them, valid until the next call;
  /// `fine` is the environment of the problem's own groups. Without `random`, grouping is greedy.
  Environment& next(const Environment& fine, const Grouper<float>& grouper, RandomStream* random);

  /// Returns the last grouping with its advantage. Requires: its episodes were run.
  GrouperLearner::Sample sample(const Environment& fine);

  /// Returns the baseline over the last groupings.
  policy_gradient::StandardizingBaseline& baseline() { return baseline_; }
  const policy_gradient::StandardizingBaseline& baseline() const { return baseline_; }

 private:
  EdgeFeatures edges_;
  EdgeContraction contraction_;
  policy_gradient::StandardizingBaseline baseline_;
  EdgeContraction::Draw draw_;
  std::optional<Environment> environment_;
};

}  // namespace emplace::agents::placeto

#pragma once

// What placeto-joint adds to an episode: before it, the grouper draws a coarser grouping; after it,
// what the episode reached is held against the draw.

#include "learned/edge_contraction.hpp"
#include "learned/placeto_episode.hpp"
#include "learned/placeto_grouper.hpp"
#include "learned/placeto_options.hpp"

#include <optional>

namespace emplace::agents::placeto {

/// Holds what belongs to the grouping of one problem from episode to episode.
class Regrouping {
 public:
  Regrouping(const Problem& problem, const Options& options);

  /// Draws coarser groups and returns a course over them, valid until the next; `fine` is that over
  /// the problem's own. Without `random`, the likeliest edges are contracted.
  Course& next(const Course& fine, const Grouper<float>& grouper, RandomStream* random);

  /// Returns what the last draw was worth, once its episode was played.
  GrouperLearner::Lesson lesson(const Course& fine);

  /// Holds the times that episodes reached after the last draws.
  DrawBaseline& baseline() { return baseline_; }
  const DrawBaseline& baseline() const { return baseline_; }

 private:
  EdgeFacts edges_;
  EdgeContraction contraction_;
  DrawBaseline baseline_;
  EdgeContraction::Draw draw_;
  std::optional<Course> course_;
};

}  // namespace emplace::agents::placeto

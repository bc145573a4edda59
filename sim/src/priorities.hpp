#pragma once

// Which of the ready ops of a device has priority, in all models: that of the higher priority in
// the graph, a schedule; among equals, the one whose group has the higher priority in the
// placement. The models order the rest.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <compare>

namespace emplace {

/// Compares ops of a problem by their priorities.
class Priorities {
 public:
  /// Requires: `problem` outlives it.
  explicit Priorities(const Problem& problem)
      : of_ops_(problem.priorities()), grouping_(&problem.grouping()) {}

  /// Takes those of another placement. Requires: it outlives their use.
  void set(const Placement& placement) {
    of_groups_ = placement.priorities();
    exist_ = !of_ops_.empty() || !of_groups_.empty();
  }

  /// Says whether there are any.
  bool exist() const { return exist_; }

  /// Returns `greater` if `a` goes before `b`.
  std::strong_ordering compare(OpId a, OpId b) const {
    if (!of_ops_.empty() && of_ops_[a] != of_ops_[b]) {
      return of_ops_[a] <=> of_ops_[b];
    }
    return of_groups_.empty()
               ? std::strong_ordering::equal
               : of_groups_[grouping_->group_of(a)] <=> of_groups_[grouping_->group_of(b)];
  }

 private:
  IdSpan<OpId, const Priority> of_ops_;
  IdSpan<GroupId, const Priority> of_groups_;
  const Grouping* grouping_;
  bool exist_ = false;
};

}  // namespace emplace

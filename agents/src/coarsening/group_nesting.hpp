#pragma once

// How placements of nested groupings correspond: every group of the finer one is within one group
// of the coarser one.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace emplace::agents {

/// Which groups of a finer grouping make up each group of a coarser one.
class GroupNesting {
 public:
  /// Requires: groupings of the same ops, and every group of `fine` is within one group of
  /// `coarse`.
  GroupNesting(const Grouping& fine, const Grouping& coarse);

  GroupId num_fine() const { return coarse_of_.end_id(); }

  /// Returns the fine groups within a coarse one, ascending.
  std::span<const GroupId> members(GroupId coarse) const;

  /// Returns the placement of the fine groups that is equivalent to `coarse`.
  Placement expand(const Placement& coarse) const;

  /// Returns the placement of the coarse groups that is nearest to `fine`: each group goes where
  /// most of its time is spent, and to the lowest device id in case of ties. Requires: the problem
  /// of the fine groups.
  Placement project(const Problem& problem, const Placement& fine) const;

  /// Returns whether some placement of the coarse groups, without priorities, is equivalent to
  /// `fine`.
  bool can_express(const Placement& fine) const;

  /// Returns the placement of the coarse groups that is equivalent to `fine`. Requires: there is
  /// one.
  Placement coarsen(const Placement& fine) const;

 private:
  IdVector<GroupId, GroupId> coarse_of_;
  GroupId num_coarse_ = 0;
  std::vector<GroupId> members_;            // by coarse group
  std::vector<std::size_t> members_begin_;  // of each coarse group, and the end
};

}  // namespace emplace::agents

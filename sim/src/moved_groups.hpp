#pragma once

// Whether a run is worth a replay of the last one: which groups moved since, and how replays went.

#include <emplace/sim/placement.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Follows the runs of one engine. After its construction it allocates nothing.
class MovedGroups {
 public:
  explicit MovedGroups(GroupId num_groups);

  /// Lists the groups that were elsewhere in the last run. Returns whether they are few enough for
  /// a replay, and replays have not given up lately.
  bool find(const Placement& placement);

  /// Returns those groups.
  std::span<const GroupId> groups() const { return moved_; }

  /// Returns the placement of the last run.
  const Placement& last() const { return last_; }

  /// Says what became of a replay. One that gives up costs time for nothing; so none is tried for a
  /// while, the longer the more gave up lately.
  void note_replay(bool has_succeeded);

  /// Says that `placement` was run.
  void note_run(const Placement& placement) { last_ = placement; }

 private:
  Placement last_;
  std::vector<GroupId> moved_;
  std::int32_t pause_ = 0;  // runs for which no replay is tried, since the last one gave up
  std::int32_t runs_till_replay_ = 0;
};

}  // namespace emplace

#pragma once

// Whether a placement is worth an incremental run: which groups moved since the last one, and how
// incremental runs went lately.

#include <emplace/sim/placement.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::placeto {

/// Follows the runs of one engine. After its construction it allocates nothing.
class MovedGroups {
 public:
  explicit MovedGroups(GroupId num_groups);

  /// Lists the groups that were elsewhere in the last run. Returns whether they are few enough for
  /// an incremental run, and those have not given up lately.
  bool find(const Placement& placement);

  /// Returns those groups.
  std::span<const GroupId> groups() const { return moved_; }

  /// Returns the placement of the last run.
  const Placement& last() const { return last_; }

  /// Says what became of an incremental run. One that gives up costs time for nothing; so none is
  /// tried for a while, the longer the more gave up lately.
  void note_incremental_run(bool has_succeeded);

  /// Says that `placement` was run.
  void note_run(const Placement& placement) { last_ = placement; }

 private:
  Placement last_;
  std::vector<GroupId> moved_;
  std::int32_t pause_ = 0;  // runs for which none is tried, since the last one gave up
  std::int32_t pause_left_ = 0;
};

}  // namespace emplace::placeto

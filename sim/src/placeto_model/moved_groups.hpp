#pragma once

// Whether a placement is worth an incremental run, and from which step: which groups are elsewhere
// than in the base of such runs, and than in the last run; and how incremental runs went lately.
//
// A search tries neighbours of a placement and goes to one of them now and then. What it tries next
// is then nearer to the last run than to the base.

#include <emplace/sim/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace::placeto_model {

/// Follows the runs of one engine. After its construction it allocates nothing.
class MovedGroups {
 public:
  enum class From : std::uint8_t { kNothing, kBase, kLastRun };

  explicit MovedGroups(GroupId num_groups);

  /// Lists the groups that are elsewhere in the base or in the last run, and says in which: where
  /// they are fewer. Says kNothing if they are too many for an incremental run, or if such runs
  /// gave up lately.
  From find(const Placement& placement);

  /// Returns those groups.
  std::span<const GroupId> groups() const { return moved_; }

  /// Returns the placement of the base.
  const Placement& base() const { return base_; }

  /// Returns the placement of the last run if that was a full one, or null.
  const Placement* last_full_run() const { return last_run_ == LastRun::kFull ? &last_ : nullptr; }

  /// Makes the last run the base.
  void make_base();

  /// Says that there is neither a base nor a last run.
  void forget();

  /// Says that `placement` was run in full.
  void note_full_run(const Placement& placement);

  /// Says that `placement` was run incrementally from the base, with groups() elsewhere.
  void note_incremental_run(const Placement& placement);

  /// Says that an incremental run gave up. That costs time for nothing; so none is tried for a
  /// while, the longer the more gave up lately.
  void note_failure();

 private:
  enum class LastRun : std::uint8_t { kNone, kFull, kIncremental };

  bool find_moved(const Placement& from, const Placement& to, std::size_t most);
  bool find_moved_since_last_run(const Placement& placement);

  Placement base_;
  bool has_base_ = false;
  LastRun last_run_ = LastRun::kNone;
  Placement last_;                                        // of a full run
  std::vector<std::pair<GroupId, DeviceId>> last_moves_;  // of an incremental run from the base
  std::vector<GroupId> moved_;
  std::vector<GroupId> moved_since_;  // the last run
  std::int32_t pause_ = 0;            // runs for which none is tried, since the last one gave up
  std::int32_t pause_left_ = 0;
};

}  // namespace emplace::placeto_model

#include "moved_groups.hpp"

#include <algorithm>

namespace emplace::placeto {
namespace {

// An incremental run pays while at most so many groups are moved, and no more than one in so many.
constexpr GroupId kMostMoved = 24;
constexpr GroupId kOneMovedIn = 4;
constexpr std::size_t kBlock = 64;          // groups that are compared together
constexpr std::int32_t kLongestPause = 63;  // in runs

}  // namespace

MovedGroups::MovedGroups(GroupId num_groups) : last_(num_groups) { moved_.reserve(num_groups); }

bool MovedGroups::find(const Placement& placement) {
  const GroupId most = std::clamp(last_.size() / kOneMovedIn, 1, kMostMoved);
  const std::span<const DeviceId> before = last_.devices();
  const std::span<const DeviceId> now = placement.devices();
  // Counted by blocks, so that it costs little where all are elsewhere.
  GroupId num_moved = 0;
  for (std::size_t begin = 0; begin < now.size(); begin += kBlock) {
    const std::size_t end = std::min(now.size(), begin + kBlock);
    for (std::size_t group = begin; group < end; ++group) {
      num_moved += now[group] != before[group];
    }
    if (num_moved > most) {
      return false;
    }
  }
  if (pause_left_ > 0) {
    --pause_left_;
    return false;
  }
  moved_.clear();
  for (GroupId group = 0; group < last_.size(); ++group) {
    if (placement[group] != last_[group]) {
      moved_.push_back(group);
    }
  }
  return true;
}

void MovedGroups::note_incremental_run(bool has_succeeded) {
  if (has_succeeded) {
    pause_ /= 2;
  } else {
    pause_ = std::min(2 * pause_ + 1, kLongestPause);
    pause_left_ = pause_;
  }
}

}  // namespace emplace::placeto

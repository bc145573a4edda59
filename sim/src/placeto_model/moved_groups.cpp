#include "moved_groups.hpp"

#include <algorithm>

namespace emplace::placeto_model {
namespace {

// An incremental run pays while at most so many groups are moved, and no more than one in so many.
constexpr std::size_t kMostMoved = 24;
constexpr std::size_t kOneMovedIn = 4;
constexpr std::size_t kBlock = 64;          // groups that are compared together
constexpr std::int32_t kLongestPause = 63;  // in runs

}  // namespace

MovedGroups::MovedGroups(GroupId num_groups) : base_(num_groups), last_(num_groups) {
  last_moves_.reserve(2 * kMostMoved + kBlock);
  moved_.reserve(2 * kMostMoved + kBlock);
  moved_since_.reserve(2 * kMostMoved + kBlock);
}

MovedGroups::From MovedGroups::find(const Placement& placement) {
  if (pause_left_ > 0) {
    --pause_left_;
    return From::kNothing;
  }
  const std::size_t most =
      std::clamp<std::size_t>(base_.devices().size() / kOneMovedIn, 1, kMostMoved);
  // In a base that is as far from the last run as possible, twice as many may be elsewhere.
  const bool is_near_base = has_base_ && find_moved(base_, placement, 2 * most);
  if (last_run_ == LastRun::kFull) {
    moved_.swap(moved_since_);
    const bool is_near = find_moved(last_, placement, most);
    moved_.swap(moved_since_);
    if (is_near && (!is_near_base || moved_since_.size() < moved_.size())) {
      moved_.swap(moved_since_);
      return From::kLastRun;
    }
  } else if (last_run_ == LastRun::kIncremental && is_near_base &&
             find_moved_since_last_run(placement) && moved_since_.size() <= most) {
    moved_.swap(moved_since_);
    return From::kLastRun;
  }
  return is_near_base && moved_.size() <= most ? From::kBase : From::kNothing;
}

// Lists the groups that differ; returns false if they are more than `most`.
bool MovedGroups::find_moved(const Placement& from, const Placement& to, std::size_t most) {
  const std::span<const DeviceId> before = from.devices();
  const std::span<const DeviceId> now = to.devices();
  moved_.clear();
  for (std::size_t begin = 0; begin < now.size(); begin += kBlock) {
    const std::size_t end = std::min(now.size(), begin + kBlock);
    DeviceId difference = 0;
    for (std::size_t group = begin; group < end; ++group) {
      difference |= now[group] ^ before[group];
    }
    if (difference != 0) {
      for (std::size_t group = begin; group < end; ++group) {
        if (now[group] != before[group]) {
          moved_.push_back(static_cast<GroupId>(group));
        }
      }
      if (moved_.size() > most) {
        return false;
      }
    }
  }
  return true;
}

// Lists the groups that are elsewhere in the last run, an incremental one; returns whether they are
// fewer than those that are elsewhere in the base.
bool MovedGroups::find_moved_since_last_run(const Placement& placement) {
  moved_since_.clear();
  for (const auto& [group, device] : last_moves_) {
    if (placement[group] != device) {
      moved_since_.push_back(group);
    }
  }
  for (const GroupId group : moved_) {
    if (std::ranges::find(last_moves_, group, &std::pair<GroupId, DeviceId>::first) ==
        last_moves_.end()) {
      moved_since_.push_back(group);
    }
  }
  return moved_since_.size() < moved_.size();
}

void MovedGroups::make_base() {
  if (last_run_ == LastRun::kFull) {
    base_ = last_;
  } else {
    for (const auto& [group, device] : last_moves_) {
      base_[group] = device;
    }
  }
  has_base_ = true;
  last_run_ = LastRun::kNone;
}

void MovedGroups::forget() {
  has_base_ = false;
  last_run_ = LastRun::kNone;
}

void MovedGroups::note_full_run(const Placement& placement) {
  last_ = placement;
  last_run_ = LastRun::kFull;
}

void MovedGroups::note_incremental_run(const Placement& placement) {
  last_moves_.clear();
  for (const GroupId group : moved_) {
    last_moves_.emplace_back(group, placement[group]);
  }
  last_run_ = LastRun::kIncremental;
  pause_ /= 2;
}

void MovedGroups::note_failure() {
  pause_ = std::min(2 * pause_ + 1, kLongestPause);
  pause_left_ = pause_;
}

}  // namespace emplace::placeto_model

#pragma once

// A schedule built group by group, as by list schedulers (HEFT, ETF, m-TOPO and similar): a
// heuristic's estimate while it decides, not what the simulator will find. Groups are tasks, and
//     start(g, d)  = max(ready(g, d), earliest free time of d)
//     ready(g, d)  = max over producers p of finish(p) + (device(p) == d ? 0 : bytes(p, g) / speed)
// Transfers do not contend (as in Topcuoglu et al. 2002), an edge of pure order takes no time, and
// a group starts when all its inputs have arrived, although its first op may need fewer.
//
// It also keeps a ledger of memory. A group takes its persistent bytes permanently, and its outputs
// until all of its consumers are assigned, which is when Baechi frees them (Jeon et al. 2020). That
// is an estimate as well: the simulator frees outputs op by op, and counts workspace, copies and
// times. Memory that it needs beyond the ledger can be kept free (reserve()). Complexity: queries
// O(1), or as in busy_times.hpp if idle slots are filled; assign() O(edges of the group * devices);
// ready_groups() O(ready groups) after an assign(). One thread.

#include <emplace/agents/busy_times.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents {

/// Where a group may run on a device.
enum class IdleSlots : std::uint8_t {
  kLeave,  ///< after everything assigned there before
  kFill,   ///< also between two groups where it fits (HEFT's insertion)
};

/// Assigns groups to devices and keeps the times; see the head of this file.
class ListSchedule {
 public:
  /// Starts an empty schedule. Requires: `problem` outlives it.
  explicit ListSchedule(const Problem& problem, IdleSlots idle_slots = IdleSlots::kLeave);

  /// Returns the groups that are not assigned while all their producers are, by position in
  /// problem.group_order(). The view is valid until the next assign().
  std::span<const GroupId> ready_groups() const;

  /// Returns whether `group` is among them.
  bool is_ready(GroupId group) const { return waiting_for_[group] == 0 && !is_assigned_[group]; }

  /// Returns the position of `group` in problem.group_order().
  std::int32_t rank(GroupId group) const { return rank_[group]; }

  /// Returns the devices on which a group that is not assigned may be: those of the problem, or the
  /// one of the groups with which it must be together.
  std::span<const DeviceId> devices_for(GroupId group) const;

  /// Returns when all that `group` reads from assigned producers is on `device`, in microseconds.
  double ready_us(GroupId group, DeviceId device) const { return ready_us_[cell(group, device)]; }

  /// Returns when `group` would start on `device`, in microseconds.
  double start_if(GroupId group, DeviceId device) const;

  /// Returns when `group` would end on `device`, in microseconds.
  double finish_if(GroupId group, DeviceId device) const {
    return start_if(group, device) + problem_.group_cost_us(group, device);
  }

  /// Returns whether `device` has memory left for `group` by the ledger.
  bool fits(GroupId group, DeviceId device) const {
    return needed_bytes(group) <= free_bytes(device);
  }

  /// Returns the bytes that assigning `group` takes at first: weights and all outputs.
  std::int64_t needed_bytes(GroupId group) const {
    return problem_.group_persistent_bytes(group) + problem_.group_output_bytes(group);
  }

  /// Returns the memory of `device` less what the ledger has assigned; negative if that is more.
  std::int64_t free_bytes(DeviceId device) const { return free_bytes_[device]; }

  /// Reserves this many bytes of each device, for memory that the ledger does not count.
  void reserve(IdSpan<DeviceId, const std::int64_t> bytes) {
    for (DeviceId device = 0; device < bytes.end_id(); ++device) {
      free_bytes_[device] -= bytes[device];
    }
  }

  /// Puts `group` on `device` at start_if(), or later if that is before `not_before_us`. Requires:
  /// `group` is among ready_groups(); a time only with IdleSlots::kLeave.
  void assign(GroupId group, DeviceId device, double not_before_us = 0);

  /// Returns when an assigned group starts, in microseconds.
  double start_us(GroupId group) const { return start_us_[group]; }

  /// Returns when an assigned group ends, in microseconds.
  double finish_us(GroupId group) const { return finish_us_[group]; }

  /// Returns the placement. Requires: all groups are assigned.
  Placement take() &&;

  /// Returns priorities by which devices run groups in the order of this schedule: the earlier a
  /// group starts, the higher. Groups that start at the same time are in topological order.
  /// Requires: all groups are assigned. O(groups * log(groups)).
  IdVector<GroupId, Priority> priorities() const;

 private:
  std::size_t cell(GroupId group, DeviceId device) const {
    return static_cast<std::size_t>(group) * num_devices_ + static_cast<std::size_t>(device);
  }
  void announce(const GroupEdge& edge, DeviceId device, double finish_us);
  void release_outputs(GroupId producer);
  void check_complete() const;

  const Problem& problem_;
  IdleSlots idle_slots_;
  std::size_t num_devices_;
  Placement placement_;
  std::int64_t num_assigned_ = 0;
  IdVector<GroupId, std::int32_t> rank_;  // position in topological order
  // Schedulers that never ask for the ready groups do not pay for keeping them in order.
  mutable std::vector<GroupId> ready_groups_;  // with those that were assigned since
  mutable std::vector<GroupId> newly_ready_;   // not among them yet
  mutable bool is_out_of_date_ = true;
  IdVector<GroupId, unsigned char> is_assigned_;
  IdVector<GroupId, std::size_t> waiting_for_;  // producers not assigned
  IdVector<GroupId, std::size_t> awaited_by_;   // consumers not assigned
  std::vector<double> ready_us_;                // by group and device
  IdVector<GroupId, double> start_us_;
  IdVector<GroupId, double> finish_us_;
  IdVector<DeviceId, BusyTimes> busy_times_;
  IdVector<DeviceId, std::int64_t> free_bytes_;
};

}  // namespace emplace::agents

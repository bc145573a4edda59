#pragma once

// What can be read from a simulated step: when each group ran, and what that implies for moves.
//
// The order of groups on each device and the edges between groups make an acyclic graph (the
// disjunctive graph of a schedule; Roy, Sussmann 1964). Backwards along it
//     tail(g) = time(g) + max(transfer + tail of each consumer, tail of the next group on its
//     device)
// so that start + tail is the longest path through a group and step - start - tail is its slack:
// how late it may come before the step gets longer. Transfers that wait for one another are not in
// this graph, so slacks are estimates. A group is taken to run at once from its start.
//
// Complexity of observe(): O(groups log groups + edges). One thread.

#include <emplace/agents/evaluator.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::learned_search {

/// Returns how many elements of a sorted list, from its beginning, are `before` something: a binary
/// search without branches, which a processor would mispredict.
template <class Before>
std::size_t count_before(std::span<const double> sorted, Before before) {
  std::size_t count = 0;
  for (std::size_t left = sorted.size(); left > 0;) {
    const std::size_t half = (left + 1) / 2;
    count += half * static_cast<std::size_t>(before(sorted[count + half - 1]));
    left -= half;
  }
  return count;
}

/// Lists when some groups of one device run, one after the other.
class Sequence {
 public:
  /// Adds a group that starts after all others.
  void add(GroupId group, double start_us, double end_us) {
    groups_.push_back(group);
    starts_us_.push_back(start_us);
    ends_us_.push_back(end_us);
    busy_us_.push_back(busy_us_.back() + (end_us - start_us));
  }

  /// Removes all.
  void clear();

  /// Returns the groups, and when they start and end, in the same order.
  std::span<const GroupId> groups() const { return groups_; }
  std::span<const double> starts_us() const { return starts_us_; }
  std::span<const double> ends_us() const { return ends_us_; }

  /// Returns for how long they run between two times. O(log groups).
  double busy_us(double begin_us, double end_us) const {
    return busy_before_us(end_us) - busy_before_us(begin_us);
  }

 private:
  double busy_before_us(double time_us) const;

  std::vector<GroupId> groups_;
  std::vector<double> starts_us_;
  std::vector<double> ends_us_;
  std::vector<double> busy_us_ = {0};  // of the groups before each one, and of all
};

/// Describes one step of a placement; see the head of this file. All times are in microseconds.
class ObservedStep {
 public:
  /// Tells what is known about a group. Groups are named kNone where there is none.
  struct Group {
    DeviceId device = 0;
    double start_us = 0;
    double end_us = 0;
    double tail_us = 0;        ///< the longest path from its start to the end of the step
    double arrival_us = 0;     ///< when its inputs are there, if no transfer waits for another
    double wait_us = 0;        ///< from then, and from the end of the group before it, to its start
    double input_us = 0;       ///< sum of the transfers of its inputs
    double output_us = 0;      ///< sum of the transfers of its outputs
    GroupId before = kNone;    ///< on its device
    GroupId after = kNone;     ///< on its device
    bool is_critical = false;  ///< on a path that takes the whole step

    double time_us() const { return end_us - start_us; }
  };
  static constexpr GroupId kNone = -1;

  /// Tells how much a device has to do.
  struct Device {
    double busy_us = 0;
    double sent_us = 0;      ///< sum of the transfers that leave it
    double received_us = 0;  ///< sum of the transfers that come to it
  };

  /// Prepares steps of one problem, which must outlive this.
  explicit ObservedStep(const Problem& problem);

  /// Reads a step of `placement` that took `step_us`.
  void observe(const Placement& placement, const StepOutline& outline, double step_us);

  const Problem& problem() const { return problem_; }
  double step_us() const { return step_us_; }
  const Group& group(GroupId group) const { return groups_[group]; }
  const Device& device(DeviceId device) const { return devices_[device]; }

  /// Returns the groups of a device by start.
  const Sequence& on_device(DeviceId device) const { return on_device_[device]; }

  /// Returns the sum of all transfers.
  double transfers_us() const { return transfers_us_; }

  /// Returns how much later than at its start a group may start; may be below 0, see above.
  double slack_us(GroupId group) const {
    return step_us_ - groups_[group].start_us - groups_[group].tail_us;
  }

  /// Says whether `a` comes before `b`: by start, among equals in topological order.
  bool is_before(GroupId a, GroupId b) const {
    const double start_a = groups_[a].start_us;
    const double start_b = groups_[b].start_us;
    return start_a != start_b ? start_a < start_b : rank_[a] < rank_[b];
  }

 private:
  void order_groups();
  void find_arrivals();
  void find_tails();
  void find_critical_path();
  double transfer_us(const GroupEdge& edge) const {
    const DeviceId from = groups_[edge.producer].device;
    const DeviceId to = groups_[edge.consumer].device;
    return from == to ? 0.0 : problem_.transfer_us(edge.bytes, from, to);
  }

  const Problem& problem_;
  double step_us_ = 0;
  double transfers_us_ = 0;
  IdVector<GroupId, Group> groups_;
  IdVector<DeviceId, Device> devices_;
  IdVector<GroupId, std::int32_t> rank_;  // in topological order
  std::vector<GroupId> by_start_;
  IdVector<DeviceId, Sequence> on_device_;
};

}  // namespace emplace::agents::learned_search

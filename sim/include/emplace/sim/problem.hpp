#pragma once

// A placement problem: the ops of a graph on a cluster (op_problem.hpp), on which the simulator
// works, and their groups, which agents place: a DAG with costs, bytes and memory summed over the
// members.
//
// Immutable, so any number of threads may share it. Problems with other groups of the same ops
// share the ops. Complexity: O(ops * devices + uses + groups * (devices + log groups)) to group
// ops, and O(groups * devices + group edges) memory besides the grouping.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/group_constraints.hpp>
#include <emplace/sim/op_problem.hpp>
#include <emplace/sim/placement.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Describes the data that one group passes to another in a step.
struct GroupEdge {
  GroupId producer = 0;
  GroupId consumer = 0;
  std::int64_t bytes = 0;  ///< sum over the distinct outputs that cross; 0 for pure order
};

/// Returns 0 to `num_groups` - 1 in a topological order, the least first where there is a choice.
/// O(groups log groups + edges). Requires: the edges, in any order, make no cycle.
std::vector<GroupId> topological_order(GroupId num_groups, std::span<const GroupEdge> edges);

/// A placement problem; see the head of this file.
class Problem : public OpProblem {
 public:
  /// Compiles `graph` for `cluster` (see OpProblem) and groups its ops. Requires: a grouping of
  /// this graph.
  Problem(std::shared_ptr<const OpGraph> graph, Grouping grouping,
          std::shared_ptr<const Cluster> cluster);

  /// Groups ops. Throws kUsage if constraints contradict each other (GroupConstraints). Requires: a
  /// grouping of their graph.
  Problem(OpProblem ops, Grouping grouping);

  /// Returns the same ops in other groups. Requires: a grouping of the same graph.
  Problem regrouped(Grouping grouping) const {
    return {static_cast<const OpProblem&>(*this), std::move(grouping)};
  }

  /// Returns which op is in which group.
  const Grouping& grouping() const { return grouping_; }

  GroupId num_groups() const { return grouping_.size(); }

  /// Returns what the cluster demands of placements.
  const GroupConstraints& constraints() const { return constraints_; }

  /// Returns the devices from which agents choose for `group`, ascending: the placeable ones, or
  /// the one to which it is pinned, placeable or not.
  std::span<const DeviceId> devices_for(GroupId group) const {
    return constraints_.pinned_device(group) == kNotPinned ? placeable_devices()
                                                           : constraints_.pin_of(group);
  }

  /// Makes a placement keep the constraints: pinned groups go to their devices, and tied ones to
  /// that of the first in topological order. Requires: a device for each group.
  void constrain(Placement& placement) const;

  /// Returns the cost of all members on `device` in microseconds, launches and gaps included.
  double group_cost_us(GroupId group, DeviceId device) const {
    return group_cost_us_[group_cell(group, device)];
  }

  /// Returns the bytes of weights and optimizer slots of a group.
  std::int64_t group_persistent_bytes(GroupId group) const {
    return group_persistent_bytes_[group];
  }

  /// Returns the bytes of all outputs that the members allocate, if none were freed in the step.
  std::int64_t group_output_bytes(GroupId group) const { return group_output_bytes_[group]; }

  /// Returns the edges between groups, sorted by producer, then consumer; one for each pair.
  std::span<const GroupEdge> group_edges() const { return group_edges_; }

  /// Returns the edges out of a group.
  std::span<const GroupEdge> group_out_edges(GroupId group) const {
    return {group_edges_.data() + group_out_begin_[group],
            group_edges_.data() + group_out_begin_[group + 1]};
  }

  /// Returns the edges into a group, by producer.
  std::span<const GroupEdge> group_in_edges(GroupId group) const {
    return {group_in_edges_.data() + group_in_begin_[group],
            group_in_edges_.data() + group_in_begin_[group + 1]};
  }

  /// Returns all groups in a topological order.
  std::span<const GroupId> group_order() const { return group_order_; }

 private:
  void add_up_members();
  void find_edges();

  std::size_t group_cell(GroupId group, DeviceId device) const {
    return static_cast<std::size_t>(device) * static_cast<std::size_t>(num_groups()) +
           static_cast<std::size_t>(group);
  }

  Grouping grouping_;
  std::vector<double> group_cost_us_;
  IdVector<GroupId, std::int64_t> group_persistent_bytes_;
  IdVector<GroupId, std::int64_t> group_output_bytes_;
  std::vector<GroupEdge> group_edges_;
  IdVector<GroupId, std::size_t> group_out_begin_;
  std::vector<GroupEdge> group_in_edges_;
  IdVector<GroupId, std::size_t> group_in_begin_;
  std::vector<GroupId> group_order_;
  GroupConstraints constraints_;
};

}  // namespace emplace

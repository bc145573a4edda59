#pragma once

// A graph, a grouping and a cluster compiled into flat arrays: everything that a simulation or an
// agent reads, and nothing that it would have to look up. Immutable, so any number of threads may
// share it; only an unshared copy may have its costs replaced.
//
// Two views of the same problem:
// - ops, on which the simulator works. An op's children are in the order of the graph, one entry
//   for each consumer, with the output that it reads (rules 1 and 2 of
//   docs/concepts/simulation.md);
// - groups, which agents place: a DAG with costs, bytes and memory summed over the members.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>
#include <emplace/profiles/cluster.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Index into the outputs of all ops of a problem.
using OutputId = std::int32_t;

/// Index into the uses of all outputs of a problem.
using UseId = std::int32_t;

/// Describes the data that one group passes to another in a step.
struct GroupEdge {
  GroupId producer = 0;
  GroupId consumer = 0;
  std::int64_t bytes = 0;  ///< sum over the distinct outputs that cross; 0 for pure order
};

/// A placement problem; see the head of this file.
class Problem {
 public:
  /// Compiles `graph` for `cluster`. Throws kFormat if times or bytes add up to more than a double
  /// represents exactly. Requires: `graph` is valid (validate() in op_graph.hpp).
  Problem(std::shared_ptr<const OpGraph> graph, Grouping grouping,
          std::shared_ptr<const Cluster> cluster);

  /// Returns the same problem with its ops in other groups, equal to a Problem with that grouping,
  /// without compiling the graph again. Costs are those of this problem, also if they were
  /// replaced. Requires: a grouping of the same graph.
  Problem regrouped(Grouping grouping) const;

  /// Returns the graph, for names, kinds, shapes and scopes.
  const OpGraph& graph() const { return *graph_; }

  /// Returns an op of the graph, for its name, kind, shape and scope.
  const Op& op(OpId op) const { return (*graph_)[static_cast<std::size_t>(op)]; }

  /// Returns the cluster, for names and profiles.
  const Cluster& cluster() const { return *cluster_; }

  /// Returns a device of the cluster, for its name.
  const Device& device(DeviceId device) const {
    return cluster_->devices[static_cast<std::size_t>(device)];
  }

  /// Returns the profile of a device.
  const DeviceProfile& profile(DeviceId device) const {
    return cluster_->profiles[this->device(device).profile];
  }

  /// Returns which op is in which group.
  const Grouping& grouping() const { return grouping_; }

  OpId num_ops() const { return num_ops_; }
  GroupId num_groups() const { return grouping_.size(); }

  /// Returns the number of devices of the cluster; a placement may use any of them.
  DeviceId num_devices() const { return static_cast<DeviceId>(cluster_->devices.size()); }

  /// Returns the devices from which agents choose unless told otherwise, ascending; never empty.
  std::span<const DeviceId> placeable_devices() const { return placeable_; }

  /// Says whether `device` is one of them; false for a number that is no device.
  bool is_placeable(DeviceId device) const {
    return static_cast<std::uint32_t>(device) < is_placeable_.size() && is_placeable_[device] != 0;
  }

  // --- Ops -------------------------------------------------------------------------------------

  /// Returns the cost of `op` on `device` in microseconds.
  double cost_us(OpId op, DeviceId device) const { return cost_us_[cost_cell(op, device)]; }

  /// Returns the costs of all ops on `device` in microseconds.
  IdSpan<OpId, const double> costs_us(DeviceId device) const {
    return {cost_us_.data() + cost_cell(0, device), static_cast<std::size_t>(num_ops_)};
  }

  /// Returns the source of that cost.
  CostSource cost_source(OpId op, DeviceId device) const {
    return cost_source_[cost_cell(op, device)];
  }

  /// Returns the standard deviation of that cost over the cost; 0 if it is taken as exact.
  double cost_deviation(OpId op, DeviceId device) const {
    return cost_deviation_[cost_cell(op, device)];
  }

  /// Replaces the costs of all ops on `device` and the others of its profile, in a copy that is not
  /// shared (replicas.hpp). Everything else stays as computed from the expected costs: priorities
  /// and groups' costs are plans. Requires: a cost for each op, not negative, small enough for
  /// exact sums.
  void replace_costs(DeviceId device, std::span<const double> costs_us);

  /// Returns how long a device pauses after `op` in the `placeto` model: the cluster's gap, or 0 if
  /// the op launches nothing.
  double gap_us(OpId op) const { return gap_us_[op]; }

  /// Returns how long launching `op` takes on `device` before its cost in the `physical` model; 0
  /// if the op launches nothing.
  double launch_us(OpId op, DeviceId device) const {
    return launches_[op] ? launch_us_[device] : 0.0;
  }

  /// Returns how long `op` occupies one slot of `device`: launch, cost and gap.
  double busy_us(OpId op, DeviceId device) const {
    return launch_us(op, device) + cost_us(op, device) + gap_us(op);
  }

  /// Returns all ops in a topological order.
  std::span<const OpId> topological_order() const { return order_; }

  /// Describes one consumer of an op: who reads, and which output.
  struct Child {
    OpId op;
    OutputId output;
  };

  /// Returns the consumers of `op`, each once, in graph order.
  std::span<const Child> children(OpId op) const {
    return {children_.data() + child_begin_[op], children_.data() + child_begin_[op + 1]};
  }

  /// Returns the same in the byte order of the consumers' names, which breaks ties in time.
  std::span<const Child> children_by_name(OpId op) const {
    const Child* const all =
        children_by_name_.empty() ? children_.data() : children_by_name_.data();
    return {all + child_begin_[op], all + child_begin_[op + 1]};
  }

  /// Returns the number of distinct producers of `op`.
  std::int32_t num_parents(OpId op) const { return num_parents_[op]; }

  /// Returns the op's outputs as a range [begin, end) of the outputs of all ops, in which
  /// `Child::output` counts. An op with consumers has at least one.
  std::pair<OutputId, OutputId> outputs(OpId op) const {
    return {output_begin_[op], output_begin_[op + 1]};
  }

  /// Describes that an op reads an output of another, or, if `output` is kControl, comes after it.
  struct Use {
    OpId producer;
    OpId consumer;
    OutputId output;  ///< or Dependency::kControl
  };

  /// Returns the distinct uses of all ops; those of one producer together, by output, control last,
  /// then by consumer.
  IdSpan<UseId, const Use> uses() const { return uses_; }

  /// Returns the uses of what `op` produces, as a range [begin, end) of uses().
  std::pair<UseId, UseId> uses_of(OpId op) const { return {use_begin_[op], use_begin_[op + 1]}; }

  /// Returns the uses by which `op` waits for others, as indices into uses().
  std::span<const UseId> inputs(OpId op) const {
    return {inputs_.data() + input_begin_[op], inputs_.data() + input_begin_[op + 1]};
  }

  /// Returns the longest sum of costs from the start of `op` to the end of the step, with each op
  /// on the device that runs it fastest and without transfers, in microseconds: its priority if
  /// devices run the critical path first.
  double priority_us(OpId op) const { return priority_us_[op]; }

  /// Returns the number of outputs of all ops together.
  OutputId num_outputs() const { return output_bytes_.end_id(); }

  /// Returns the bytes that a transfer of the output moves.
  std::int64_t output_bytes(OutputId output) const { return output_bytes_[output]; }

  /// Returns the bytes of memory that the output takes on the device of its producer: none if it is
  /// a variable's value, which is persistent, or a view.
  std::int64_t output_allocated_bytes(OutputId output) const {
    return output_allocated_bytes_[output];
  }

  /// Returns the bytes of memory that the op's outputs take on its device.
  std::int64_t allocated_bytes(OpId op) const { return allocated_bytes_[op]; }

  static constexpr UseId kNoUse = -1;

  /// Returns which of inputs() the result of `op` is a view of: the view has no memory of its own,
  /// and the input stays as long as the view is read. kNoUse for other ops, and in the `placeto`
  /// model.
  UseId viewed_input(OpId op) const { return viewed_input_[op]; }

  /// Returns the output in whose memory an output is stored: the one that it is a view of, directly
  /// or through other views, or else itself.
  OutputId storage(OutputId output) const { return storage_[output]; }

  /// Returns whether `op` may write its first output over one of its inputs, which must be as large
  /// and not be read by any later op. False in the `placeto` model.
  bool may_overwrite(OpId op, UseId input) const {
    const OutputId read = uses_[input].output;
    return works_in_place_[op] && read >= 0 && output_bytes_[read] == first_output_bytes(op) &&
           output_allocated_bytes_[storage_[read]] > 0;
  }

  /// Returns whether `op` may write its first output over an input at all.
  bool works_in_place(OpId op) const { return works_in_place_[op]; }

  /// Returns the position of the op's name among all names in byte order; it breaks ties in time.
  std::int32_t name_rank(OpId op) const { return name_rank_[op]; }

  // --- Devices ---------------------------------------------------------------------------------

  /// Returns the devices in the byte order of their names, which breaks ties in time.
  std::span<const DeviceId> devices_by_name() const { return devices_by_name_; }

  /// Returns the memory of a device that tensors may take, in bytes.
  std::int64_t memory_bytes(DeviceId device) const;

  /// Returns how many ops the device runs at the same time; 1 except in the `physical` model.
  std::int32_t slots(DeviceId device) const;

  // --- Transfers -------------------------------------------------------------------------------

  /// Returns the links and routes of the `physical` and `grappler` models; empty in `placeto`.
  const Topology& topology() const { return topology_; }

  /// Returns how long `bytes` take from one device to another without other transfers, in
  /// microseconds; 0 from a device to itself.
  double transfer_us(std::int64_t bytes, DeviceId from, DeviceId to) const;

  /// Returns the same, as the mean over all ordered pairs of different placeable devices.
  double mean_transfer_us(std::int64_t bytes) const;

  // --- Groups ----------------------------------------------------------------------------------

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
  void compile_costs();
  void compile_ops();
  void compile_uses();
  void compile_storage();
  void compile_transfers();
  void compile_groups();
  void compile_devices();

  double latency_us(DeviceId from, DeviceId to) const;
  double bytes_per_us(DeviceId from, DeviceId to) const;
  std::int64_t first_output_bytes(OpId op) const { return output_bytes_[output_begin_[op]]; }

  std::size_t cost_cell(OpId op, DeviceId device) const {
    return this->device(device).profile * static_cast<std::size_t>(num_ops_) +
           static_cast<std::size_t>(op);
  }

  std::size_t group_cell(GroupId group, DeviceId device) const {
    return static_cast<std::size_t>(device) * static_cast<std::size_t>(num_groups()) +
           static_cast<std::size_t>(group);
  }

  std::shared_ptr<const OpGraph> graph_;
  Grouping grouping_;
  std::shared_ptr<const Cluster> cluster_;
  OpId num_ops_ = 0;

  std::vector<double> cost_us_;  // a row for each profile
  std::vector<CostSource> cost_source_;
  std::vector<double> cost_deviation_;
  IdVector<OpId, double> gap_us_;
  IdVector<OpId, bool> launches_;
  IdVector<DeviceId, double> launch_us_;
  std::vector<OpId> order_;
  IdVector<OpId, std::size_t> child_begin_;
  std::vector<Child> children_;
  std::vector<Child> children_by_name_;  // empty if it would be the same
  IdVector<OpId, std::int32_t> num_parents_;
  IdVector<OpId, OutputId> output_begin_;
  IdVector<OutputId, std::int64_t> output_bytes_;
  IdVector<OpId, std::int64_t> allocated_bytes_;
  IdVector<OpId, std::int32_t> name_rank_;
  IdVector<OutputId, std::int64_t> output_allocated_bytes_;
  IdVector<UseId, Use> uses_;
  IdVector<OpId, UseId> use_begin_;
  std::vector<UseId> inputs_;
  IdVector<OpId, std::size_t> input_begin_;
  IdVector<OpId, double> priority_us_;
  IdVector<OpId, UseId> viewed_input_;
  IdVector<OutputId, OutputId> storage_;
  IdVector<OpId, bool> works_in_place_;

  Topology topology_;
  double mean_latency_us_ = 0;
  double mean_us_per_byte_ = 0;

  std::vector<DeviceId> devices_by_name_;
  std::vector<DeviceId> placeable_;
  IdVector<DeviceId, std::uint8_t> is_placeable_;

  std::vector<double> group_cost_us_;
  IdVector<GroupId, std::int64_t> group_persistent_bytes_;
  IdVector<GroupId, std::int64_t> group_output_bytes_;
  std::vector<GroupEdge> group_edges_;
  IdVector<GroupId, std::size_t> group_out_begin_;
  std::vector<GroupEdge> group_in_edges_;
  IdVector<GroupId, std::size_t> group_in_begin_;
  std::vector<GroupId> group_order_;
};

}  // namespace emplace

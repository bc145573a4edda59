#pragma once

// A graph and a cluster compiled into flat arrays: all that a simulation reads of ops, devices and
// transfers. An op's children are in the order of the graph, one entry for each consumer, with the
// output that it reads (rules 1 and 2 of docs/concepts/simulation.md).
//
// Immutable. Copies share the arrays, and any number of threads may. Complexity: O(1) to copy,
// O(ops log ops + edges log edges + ops * profiles + devices^2) to compile.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/graphs/op_graph.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/cost_table.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Index into the outputs of all ops of a problem.
using OutputId = Id<struct OutputTag>;

/// Index into the uses of all outputs of a problem.
using UseId = Id<struct UseTag>;

/// The ops of a graph on a cluster; see the head of this file.
class OpProblem {
 public:
  /// Compiles `graph` for `cluster`. Throws kFormat if times or bytes add up to more than a double
  /// represents exactly, and kUsage if a constraint of the cluster selects no op, or pins one to
  /// two devices. Requires: `graph` is valid (validate() in op_graph.hpp).
  OpProblem(std::shared_ptr<const OpGraph> graph, std::shared_ptr<const Cluster> cluster);

  /// Returns the graph, for names, kinds, shapes and scopes.
  const OpGraph& graph() const { return *ops_->graph; }

  /// Returns an op of the graph, for its name, kind, shape and scope.
  const Op& op(OpId op) const { return (*ops_->graph)[static_cast<std::size_t>(op)]; }

  /// Returns the cluster, for names and profiles.
  const Cluster& cluster() const { return *ops_->cluster; }

  /// Returns a device of the cluster, for its name.
  const Device& device(DeviceId device) const {
    return ops_->cluster->devices[static_cast<std::size_t>(device)];
  }

  /// Returns the profile of a device.
  const DeviceProfile& profile(DeviceId device) const {
    return ops_->cluster->profiles[this->device(device).profile];
  }

  OpId num_ops() const { return ops_->num_ops; }

  /// Returns the number of devices of the cluster; a placement may use any of them.
  DeviceId num_devices() const { return static_cast<DeviceId>(ops_->cluster->devices.size()); }

  /// Returns the devices from which agents choose unless told otherwise, ascending; never empty.
  std::span<const DeviceId> placeable_devices() const { return ops_->placeable; }

  /// Says whether `device` is one of them; false for a number that is no device.
  bool is_placeable(DeviceId device) const {
    return device >= 0 && device < num_devices() && this->device(device).placeable;
  }

  /// Returns the placeable devices and those to which ops are pinned, ascending.
  std::span<const DeviceId> used_devices() const { return ops_->used; }

  /// The device of an op that is pinned to none.
  static constexpr DeviceId kNotPinned = -1;

  /// Returns the device to which a constraint of the cluster pins `op`, or kNotPinned.
  DeviceId pinned_device(OpId op) const {
    return ops_->pinned.empty() ? kNotPinned : ops_->pinned[op];
  }

  /// Returns the sets of ops that share a device, ascending, one for each Cluster::together, and
  /// for each layer of Cluster::granularity.
  std::span<const std::vector<OpId>> together() const { return ops_->together; }

  // --- Ops -------------------------------------------------------------------------------------

  /// Returns the costs of all ops in microseconds.
  const CostTable& costs() const { return ops_->costs; }

  /// Returns the cost of `op` on `device` in microseconds.
  double cost_us(OpId op, DeviceId device) const { return ops_->costs(op, device); }

  /// Returns the source of that cost.
  CostSource cost_source(OpId op, DeviceId device) const { return ops_->cost_sources(op, device); }

  /// Returns the standard deviation of that cost over the cost; 0 if it is taken as exact.
  double cost_deviation(OpId op, DeviceId device) const {
    return ops_->cost_deviations(op, device);
  }

  /// Returns how long a device pauses after `op` in the `placeto` model: the cluster's gap, or 0 if
  /// the op launches nothing.
  double gap_us(OpId op) const { return ops_->gap_us[op]; }

  /// Returns how long `device` takes to begin the kernels of `op`, in addition to its cost, in the
  /// `physical` model; 0 if the op launches nothing.
  double launch_us(OpId op, DeviceId device) const {
    return ops_->kernels[op] * ops_->launch_us[device];
  }

  /// Returns how long the host takes to launch `op` on `device` in the `physical` model; 0 on CPUs.
  double host_us(OpId op, DeviceId device) const {
    return ops_->is_launched_on[device] ? ops_->kernels[op] * ops_->cluster->host.launch_us : 0.0;
  }

  /// Returns how long `op` occupies one slot of `device`: launch, cost and gap.
  double busy_us(OpId op, DeviceId device) const {
    return launch_us(op, device) + cost_us(op, device) + gap_us(op);
  }

  /// Returns all ops in a topological order.
  std::span<const OpId> topological_order() const { return ops_->order; }

  /// Describes one consumer of an op: who reads, and which output.
  struct Child {
    OpId op;
    OutputId output;
  };

  /// Returns the consumers of `op`, each once, in graph order.
  std::span<const Child> children(OpId op) const {
    return {ops_->children.data() + ops_->child_begin[op],
            ops_->children.data() + ops_->child_begin[op + 1]};
  }

  /// Returns the same in the byte order of the consumers' names, which breaks ties in time.
  std::span<const Child> children_by_name(OpId op) const {
    const Child* const all =
        ops_->children_by_name.empty() ? ops_->children.data() : ops_->children_by_name.data();
    return {all + ops_->child_begin[op], all + ops_->child_begin[op + 1]};
  }

  /// Returns the number of distinct producers of `op`.
  std::int32_t num_parents(OpId op) const { return ops_->num_parents[op]; }

  /// Returns the op's outputs as a range [begin, end) of the outputs of all ops, in which
  /// `Child::output` counts. An op with consumers has at least one.
  std::pair<OutputId, OutputId> outputs(OpId op) const {
    return {ops_->output_begin[op], ops_->output_begin[op + 1]};
  }

  /// Describes that an op reads an output of another, or, if `output` is kControl, comes after it.
  struct Use {
    OpId producer;
    OpId consumer;
    OutputId output;  ///< or Dependency::kControl
  };

  /// Returns the distinct uses of all ops; those of one producer together, by output, control last,
  /// then by consumer.
  IdSpan<UseId, const Use> uses() const { return ops_->uses; }

  /// Returns the uses of what `op` produces, as a range [begin, end) of uses().
  std::pair<UseId, UseId> uses_of(OpId op) const {
    return {ops_->use_begin[op], ops_->use_begin[op + 1]};
  }

  /// Returns the uses by which `op` waits for others, as indices into uses().
  std::span<const UseId> inputs(OpId op) const {
    return {ops_->inputs.data() + ops_->input_begin[op],
            ops_->inputs.data() + ops_->input_begin[op + 1]};
  }

  /// Returns the longest sum of costs from the start of `op` to the end of the step, with each op
  /// on the device that runs it fastest and without transfers, in microseconds: its priority if
  /// devices run the critical path first.
  double priority_us(OpId op) const { return ops_->priority_us[op]; }

  /// Returns the priority of each op in the graph (`Op::priority`); empty if all are 0.
  IdSpan<OpId, const std::int32_t> priorities() const { return ops_->priorities; }

  /// Returns the number of outputs of all ops together.
  OutputId num_outputs() const { return ops_->output_bytes.end_id(); }

  /// Returns the bytes that a transfer of the output moves.
  std::int64_t output_bytes(OutputId output) const { return ops_->output_bytes[output]; }

  /// Returns the bytes of memory that the output takes on the device of its producer: none if it is
  /// a variable's value, which is persistent, or a view.
  std::int64_t output_allocated_bytes(OutputId output) const {
    return ops_->output_allocated_bytes[output];
  }

  /// Returns the bytes of memory that the op's outputs take on its device.
  std::int64_t allocated_bytes(OpId op) const { return ops_->allocated_bytes[op]; }

  static constexpr UseId kNoUse = -1;

  /// Returns which of inputs() the result of `op` is a view of: the view has no memory of its own,
  /// and the input stays as long as the view is read. kNoUse for other ops, and in the `placeto`
  /// model.
  UseId viewed_input(OpId op) const { return ops_->viewed_input[op]; }

  /// Returns the output in whose memory an output is stored: the one that it is a view of, directly
  /// or through other views, or else itself.
  OutputId storage(OutputId output) const { return ops_->storage[output]; }

  /// Returns whether `op` may write its first output over one of its inputs, which must be as large
  /// and not be read by any later op. False in the `placeto` model.
  bool may_overwrite(OpId op, UseId input) const {
    const OutputId read = ops_->uses[input].output;
    return ops_->works_in_place[op] && read >= 0 &&
           ops_->output_bytes[read] == first_output_bytes(op) &&
           ops_->output_allocated_bytes[ops_->storage[read]] > 0;
  }

  /// Returns whether `op` may write its first output over an input at all.
  bool works_in_place(OpId op) const { return ops_->works_in_place[op]; }

  /// Returns the position of the op's name among all names in byte order; it breaks ties in time.
  std::int32_t name_rank(OpId op) const { return ops_->name_rank[op]; }

  // --- Devices ---------------------------------------------------------------------------------

  /// Returns the devices in the byte order of their names, which breaks ties in time.
  std::span<const DeviceId> devices_by_name() const { return ops_->devices_by_name; }

  /// Returns the memory of a device that tensors may take, in bytes.
  std::int64_t memory_bytes(DeviceId device) const;

  /// Returns how many ops the device runs at the same time; 1 except in the `physical` model.
  std::int32_t slots(DeviceId device) const;

  // --- Transfers -------------------------------------------------------------------------------

  /// Returns the links and routes of the `physical` and `grappler` models; empty in `placeto`.
  const Topology& topology() const { return ops_->topology; }

  /// Returns how long `bytes` take from one device to another without other transfers, in
  /// microseconds; 0 from a device to itself.
  double transfer_us(std::int64_t bytes, DeviceId from, DeviceId to) const;

  /// Returns the same, as the mean over all ordered pairs of different placeable devices.
  double mean_transfer_us(std::int64_t bytes) const;

 private:
  struct Compiled {
    std::shared_ptr<const OpGraph> graph;
    std::shared_ptr<const Cluster> cluster;
    OpId num_ops = 0;

    CostTable costs;
    OpDeviceTable<CostSource> cost_sources;
    OpDeviceTable<double> cost_deviations;
    IdVector<OpId, double> gap_us;
    IdVector<OpId, double> kernels;
    IdVector<DeviceId, double> launch_us;
    IdVector<DeviceId, bool> is_launched_on;  // by the host
    std::vector<OpId> order;
    IdVector<OpId, std::size_t> child_begin;
    std::vector<Child> children;
    std::vector<Child> children_by_name;  // empty if it would be the same
    IdVector<OpId, std::int32_t> num_parents;
    IdVector<OpId, OutputId> output_begin;
    IdVector<OutputId, std::int64_t> output_bytes;
    IdVector<OpId, std::int64_t> allocated_bytes;
    IdVector<OpId, std::int32_t> name_rank;
    IdVector<OutputId, std::int64_t> output_allocated_bytes;
    IdVector<UseId, Use> uses;
    IdVector<OpId, UseId> use_begin;
    std::vector<UseId> inputs;
    IdVector<OpId, std::size_t> input_begin;
    IdVector<OpId, double> priority_us;
    IdVector<OpId, std::int32_t> priorities;
    IdVector<OpId, UseId> viewed_input;
    IdVector<OutputId, OutputId> storage;
    IdVector<OpId, bool> works_in_place;

    Topology topology;
    double mean_latency_us = 0;
    double mean_us_per_byte = 0;

    std::vector<DeviceId> devices_by_name;
    std::vector<DeviceId> placeable;
    std::vector<DeviceId> used;
    IdVector<OpId, DeviceId> pinned;  // empty if no op is pinned
    std::vector<std::vector<OpId>> together;
  };

  // Each fills a part of what ops_ points to, from those before it.
  void compile_constraints(Compiled& ops) const;
  void compile_devices(Compiled& ops) const;
  void compile_costs(Compiled& ops) const;
  void compile_ops(Compiled& ops) const;
  void compile_uses(Compiled& ops) const;
  void compile_storage(Compiled& ops) const;
  void compile_transfers(Compiled& ops) const;

  double latency_us(DeviceId from, DeviceId to) const;
  double bytes_per_us(DeviceId from, DeviceId to) const;
  std::int64_t first_output_bytes(OpId op) const {
    return ops_->output_bytes[ops_->output_begin[op]];
  }

  std::shared_ptr<const Compiled> ops_;
};

}  // namespace emplace

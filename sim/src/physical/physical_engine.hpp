#pragma once

// The engine of the `physical` model, which also runs the `grappler` model. Rule numbers refer to
// "The `physical` engine" in docs/concepts/simulation.md.
//
// A discrete-event simulation with next-event time advance. Events are the ends of ops and of
// transfers' latencies, each kept in a future event list, and the ends of flows, which the network
// keeps. Events of one instant are handled together; then devices dispatch their next ops, and
// links are shared anew if a flow started or ended.

#include "engine.hpp"
#include "event_list.hpp"
#include "host_launches.hpp"
#include "memory_meter.hpp"
#include "network.hpp"
#include "ready_queues.hpp"
#include "transfer_table.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <vector>

namespace emplace::physical {

/// Simulates placements by the rules of the `physical` and `grappler` models.
class PhysicalEngine final : public Engine {
 public:
  /// Prepares a workspace. Requires: both outlive it.
  PhysicalEngine(const Problem& problem, const CostTable& costs);

  const SimResult& run(const Placement& placement, double cutoff_us) override;
  StepRecord describe(const Placement& placement) override;

 private:
  // The events of the present instant, each kind in the order of ids.
  struct EventBatch {
    std::vector<OpId> ended_ops;
    std::vector<OpId> launched;
    std::vector<TransferId> arrived;  // transfers whose latency is over
    std::vector<Network::Ended> ended_flows;
  };

  // What starting and ending an op reads.
  struct OpFacts {
    std::int64_t workspace_bytes;
    std::int64_t start_bytes;  // workspace and outputs
    std::size_t first_input;   // in `inputs_to_free_`
    std::size_t last_input;    // the one after
    bool works_in_place;
  };

  void compile_ops();
  void reset(const Placement& placement);
  double take_next_events();
  void finish_op(OpId op);
  void free_inputs(OpId op, DeviceId device);
  void free_input(UseId input, DeviceId device);
  void overwrite_input(OpId op, DeviceId device);
  bool is_last_to_use(UseId input) const;
  void send_outputs(OpId op, DeviceId device);
  void deliver(TransferId transfer, double at_us);
  void enter_network(TransferId transfer);
  void start_transfers();
  void queue_woken_ops();
  void dispatch();
  void start_op(DeviceId device, OpId op);
  void release_output(OpId producer, OutputId output, DeviceId device);
  void wake(OpId op);
  void add_transfers(StepRecord& record) const;
  void add_allocations(StepRecord& record) const;

  const Problem& problem_;
  const CostTable& costs_;
  const OpId num_ops_;
  const DeviceId num_devices_;
  const double bytes_of_overhead_;  // grappler: what a channel's fixed time is worth
  const double min_bytes_;          // transfers of less want no link

  // Results.
  SimResult result_;
  IdVector<OpId, double> start_us_;
  IdVector<OpId, double> end_us_;
  IdVector<OutputId, double> output_freed_us_;

  // The problem, as the engine reads it.
  IdVector<std::int32_t, double> latency_us_;  // of routes
  IdVector<OpId, std::int32_t> num_inputs_;
  IdVector<OpId, OpFacts> op_facts_;
  std::vector<UseId> inputs_to_free_;  // of all ops
  std::vector<OpId> roots_;
  IdVector<GroupId, std::int32_t> num_ops_in_;

  // The state of the step.
  double now_us_ = 0;
  EventList<OpId> op_ends_;
  EventList<TransferId> delays_;  // ends of transfers' latencies
  HostLaunches launches_;
  Network network_;
  TransferTable transfers_;
  TransferId num_sent_ = 0;  // transfers that have started
  MemoryMeter memory_;
  ReadyQueues ready_;
  IdVector<DeviceId, std::int32_t> free_slots_;
  IdVector<OpId, DeviceId> device_of_;
  IdVector<OpId, std::int32_t> waiting_;          // inputs and launches to come
  IdVector<OutputId, std::int32_t> output_uses_;  // local consumers and transfers to end
  IdVector<OpId, UseId> overwritten_;             // the input over which an op writes, or kNoUse
  EventBatch batch_;
  std::vector<OpId> woken_;
  std::vector<DeviceId> idle_;  // devices that may start an op
  IdVector<DeviceId, std::int32_t> num_ops_on_;
};

}  // namespace emplace::physical

#pragma once

// A full run of the `placeto` engine, event by event. Rule numbers refer to
// docs/concepts/simulation.md.
//
// Of the rules' events only one kind is left: a device dispatches its next op. The others follow
// from it. A channel serves outputs in the order in which its device computes them, so when an op
// starts, it is known when each consumer will have its output. An op that is notified by its last
// producer joins the ready queue of its device, sorted by the time at which it will be ready.
// Dispatches happen in the order of time, so no op that is ready earlier can come later. Where
// times coincide, `EventKey::order` is the place of the event among all events of that time, so
// that queues are those of the rules to the last tie.
//
// Where a placement has priorities, a device keeps the ops that are ready in a heap beside its
// queue: what it dispatches next is the first of the heap, not of the queue.
//
// A processor cannot predict what comes next. Hence the arithmetic of time_bits.hpp where one would
// write `if`, and consumers and devices in blocks that are filled up with sentinels.

#include "op_table.hpp"
#include "priorities.hpp"
#include "step_times.hpp"
#include "time_bits.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace emplace::placeto_model {

/// Is an op in the ready queue of its device.
struct ReadyOp {
  TimeBits at;  ///< when it is ready
  OpId op;
};

/// Holds one device with its ready queue and its outgoing channel.
struct alignas(64) DeviceState {
  TimeBits dispatch_at = kNever;  ///< when it dispatches its next op
  TimeBits free_at = 0;           ///< when it can run another op
  double channel_free_us = 0;     ///< when its channel can take the next output
  const double* costs_us = nullptr;
  ReadyOp* queue_begin = nullptr;  ///< those before `queue_head` were dispatched
  ReadyOp* queue_head = nullptr;
  ReadyOp* queue_tail = nullptr;
  DeviceId device = StepTimes::kNone;
  std::uint32_t slot = 0;

  /// Returns the ops that it dispatched, in order.
  std::span<const ReadyOp> dispatched() const { return {queue_begin, queue_head}; }
};

/// Simulates steps of one problem in full; a workspace of one thread. After its construction it
/// allocates nothing, but for the first placements with priorities.
class EventLoop {
 public:
  /// Prepares a workspace that writes `times`. Requires: all outlive it.
  EventLoop(const Problem& problem, const CostTable& costs, const OpTable& table, StepTimes& times);

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Simulates one step, without memory. Of transfers it keeps no times (StepTimes::send_all()).
  void run(const Placement& placement, IdSpan<DeviceId, const PlacedOps> loads);

  /// Returns the last event of the last run.
  double makespan_us() const { return makespan_us_; }

  /// Returns the devices that ran ops in the last run.
  std::span<const DeviceState> devices() const { return {devices_.data(), num_slots_}; }

 private:
  static constexpr std::size_t kDeviceBlock = 4;  // devices that are compared together

  // When an event happens. Events of one time come in ascending order: those under way before, by
  // the names of producer and consumer; then transfers that take no time, by channel; then what
  // starts and ends at this time, as it comes (rule 5).
  struct EventKey {
    TimeBits at;
    std::uint64_t order;
  };
  static constexpr std::uint64_t kAtOnceByChannel = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kAtOnceAsItComes = std::uint64_t{2} << 62;

  // What a producer looks up and changes of its consumers.
  struct OpState {
    EventKey ready;        // the last delivery so far
    std::int32_t waiting;  // producers that have not started yet
    std::uint32_t slot;    // of its device
  };

  // An op that a device has just dispatched.
  struct Dispatched {
    OpId op;
    double start_us;
    double end_us;
  };

  void reset(const Placement& placement, IdSpan<DeviceId, const PlacedOps> loads);
  DeviceState& next_device();
  void dispatch(DeviceState& device);
  Dispatched start_next_op(DeviceState& device);
  bool send_only_output(DeviceState& device, const Dispatched& dispatched);
  void send_outputs(DeviceState& device, const Dispatched& dispatched);
  std::int32_t notify_block(const DeviceState& device, const OpId* block, const EventKey& here,
                            const EventKey& elsewhere);
  void notify(OpId op, EventKey delivery);
  void insert_by_time(DeviceState& device, ReadyOp* last);
  auto place_in_queue(OpId op) const;
  void choose_by_priority(DeviceState& device);

  const Problem& problem_;
  const CostTable& costs_;
  const OpTable& table_;
  StepTimes& times_;
  const double gap_us_[2];  // after an op without and with a gap

  // What the loop reads and writes for each op: views of the table and the times.
  IdSpan<OpId, const OpTable::Row> rows_;
  IdSpan<OpId, double> start_us_;
  IdSpan<OpId, double> end_us_;
  IdSpan<OpId, double> last_uses_us_;
  IdSpan<OutputId, double> transfer_start_us_;
  IdSpan<OutputId, double> transfer_end_us_;
  const OpId* more_consumers_;
  const double gap_after_transfer_us_;
  double makespan_us_ = 0;

  IdVector<OpId, OpState> state_;

  // Devices in use, in the byte order of their names, in which the rules serve them at one time.
  // The queues are stretches of shared storage, one entry longer than needed, because an op is
  // written to the tail of a queue before it is known whether it stays.
  std::size_t num_slots_ = 0;
  std::vector<DeviceState> devices_;  // filled up to a whole block; the last is the sentinel's
  std::vector<ReadyOp> queue_storage_;
  IdVector<DeviceId, std::uint32_t> slot_of_device_;
  Priorities priorities_;                 // none for most
  std::vector<std::vector<OpId>> ready_;  // by slot: ready ops, a heap; with priorities only
  std::uint64_t num_at_once_ = 0;         // deliveries that took no time so far
  OpId* next_dispatched_ = nullptr;       // in `times_.dispatch_order`
};

}  // namespace emplace::placeto_model

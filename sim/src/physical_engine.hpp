#pragma once

// The `physical` event engine, which also runs the `grappler` model. Rule numbers refer to "The
// `physical` engine" in sim/README.md.
//
// Events are ends of ops, transfers whose latency is over (one heap for both), and ends of flows,
// of which the network knows the next. What ends at one instant is handled together; then devices
// take their next ops, and links are shared anew if a flow started or ended.

#include "moved_groups.hpp"
#include "network.hpp"
#include "physical_replay.hpp"

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace emplace {

/// Runs placements of one problem; a workspace of one thread. After the first run it allocates
/// nothing.
class PhysicalEngine {
 public:
  /// Prepares a workspace. Requires: `problem` outlives it.
  PhysicalEngine(const Problem& problem, bool stop_when_out_of_memory);

  PhysicalEngine(const PhysicalEngine&) = delete;
  PhysicalEngine& operator=(const PhysicalEngine&) = delete;

  /// Simulates one step. Requires: a valid device for each group.
  void run(const Placement& placement);

  /// Says whether the last run was a replay of the one before.
  bool was_replay() const { return was_replay_; }

  /// Forgets the last run, so that the next one is full.
  void forget() { base_ = Base::kNone; }

  /// Return the results of the last run, as SimResult describes them.
  double makespan_us() const { return makespan_us_; }
  std::span<const double> start_us() const {
    return was_replay_ ? replay_->start_us() : std::span<const double>(start_us_);
  }
  std::span<const double> end_us() const {
    return was_replay_ ? replay_->end_us() : std::span<const double>(end_us_);
  }
  std::span<const std::int64_t> peak_bytes() const {
    return was_replay_ ? replay_->peak_bytes() : std::span<const std::int64_t>(peak_bytes_);
  }

  /// Adds the transfers and allocations of the last run to `record`. Requires: it was a full one.
  void add_details(StepRecord& record) const;

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr double kNotYet = -1.0;

  // The end of an op, or, with a name behind those of the ops, of the latency of a transfer.
  struct Event {
    double at_us;
    std::int32_t name;
  };

  struct Entry {
    double ready_us;
    OpId op;
  };

  // A device with its queue of ready ops, a stretch of shared storage: sorted, or a heap.
  struct Station {
    Entry* begin = nullptr;
    Entry* head = nullptr;  // those before were started; not used by a heap
    Entry* tail = nullptr;
    std::int32_t free_slots = 0;
    bool has_grown = false;  // whether it took memory at the present instant
    std::int64_t live_bytes = 0;
  };

  struct TransferState {
    OpId producer;
    std::int32_t output;
    std::int32_t first_use;  // of that output
    DeviceId from;
    DeviceId to;
    std::int32_t consumers;  // that have not ended yet
    double start_us;
    double end_us;
    double freed_us;
  };

  bool replay(const Placement& placement);
  void simulate(const Placement& placement);
  void reset(const Placement& placement);
  bool has_next() const;
  double gather();
  void finish_op(OpId op);
  std::int32_t route_output(OpId producer, std::int32_t first_use, std::int32_t last_use);
  void send(std::int32_t transfer);
  void enter_network(std::int32_t transfer);
  void deliver(std::int32_t transfer, double at_us);
  void wake(OpId op);
  void queue_woken();
  void dispatch();
  void start_op(DeviceId device, OpId op);
  void release_output(std::int32_t output, DeviceId device);
  void allocate(DeviceId device, std::int64_t bytes);
  void count_memory();
  OpId take_ready(Station& station);
  bool runs_before(const Entry& a, const Entry& b) const;

  const Problem& problem_;
  const bool stop_when_out_of_memory_;
  const bool by_priority_;
  const double bytes_of_overhead_;  // grappler: what a channel's fixed time is worth
  const double min_bytes_;          // transfers of less want no link
  const std::int32_t num_ops_;

  // The last run, from which a replay starts: what it left in this engine, or in the replay.
  enum class Base : std::uint8_t { kNone, kFull, kReplay };
  Base base_ = Base::kNone;
  MovedGroups moved_;
  std::unique_ptr<PhysicalReplay> replay_;  // where the problem allows it
  std::int64_t cost_revision_ = 0;          // of the problem, in the last run

  // Results; of a full run, if there are others in the replay.
  bool was_replay_ = false;
  double makespan_us_ = 0;
  std::vector<double> start_us_;
  std::vector<double> end_us_;
  std::vector<double> output_freed_us_;
  std::vector<TransferState> transfers_;  // in the order in which they start
  std::vector<std::int64_t> peak_bytes_;

  // The problem, as the engine reads it.
  std::vector<double> latency_us_;  // of routes
  std::vector<std::int32_t> num_inputs_;
  std::vector<std::int64_t> workspace_bytes_;
  std::vector<OpId> roots_;
  std::vector<std::size_t> group_ops_;

  // State.
  double now_us_ = 0;
  bool is_out_of_memory_ = false;
  std::size_t num_sent_ = 0;  // transfers that have started
  Network network_;
  std::vector<Event> events_;  // a heap
  std::vector<DeviceId> device_;
  std::vector<std::int32_t> waiting_;      // by op: inputs that it does not have yet
  std::vector<std::int32_t> output_uses_;  // by output: local consumers and transfers to end
  std::vector<std::int32_t> transfer_of_;  // by use: its transfer, or kNone if local
  std::vector<Station> stations_;
  std::vector<Entry> ready_storage_;

  // Of the present instant.
  std::vector<OpId> ended_ops_;
  std::vector<std::int32_t> arrived_;  // transfers whose latency is over
  std::vector<Network::Ended> ended_flows_;
  std::vector<OpId> woken_;
  std::vector<DeviceId> idle_;   // devices that may start an op
  std::vector<DeviceId> grown_;  // devices that took memory
};

}  // namespace emplace

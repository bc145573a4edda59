#pragma once

// The `placeto` event engine. Rule numbers refer to sim/README.md.
//
// Only two kinds of events are left of the rules: a transfer arrives, and a device takes its turn.
// The others follow from them. A channel serves outputs in the order in which its device computes
// them, so a transfer's times are known as soon as its op starts. An op that ends concerns its own
// device alone: its consumers there are told when it starts, and those that waited for nothing else
// are `pending` until something touches the device's queue after the op's end. Ops become ready and
// outputs are sent in time order, so every queue is a stretch of a plain array.
//
// What comes next cannot be foreseen by a processor, and a mispredicted branch costs as much as
// twenty additions. Hence the arithmetic where one would write `if`, and consumers in blocks of
// four.

#include "memory_peaks.hpp"

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace emplace {

/// Runs placements of one problem; a workspace of one thread. After the first run it allocates
/// nothing.
class PlacetoEngine {
 public:
  /// Prepares a workspace. Requires: `problem` outlives it.
  explicit PlacetoEngine(const Problem& problem);

  PlacetoEngine(const PlacetoEngine&) = delete;
  PlacetoEngine& operator=(const PlacetoEngine&) = delete;

  /// Simulates one step, without memory. Requires: a valid device for each group.
  void run(const Placement& placement);

  /// Computes when outputs are freed and the peaks. Requires: run() with the same placement came
  /// before.
  void account_memory(const Placement& placement);

  /// Return the results of the last run, as SimResult describes them.
  double makespan_us() const { return makespan_us_; }
  std::span<const double> start_us() const { return start_us_; }
  std::span<const double> end_us() const { return end_us_; }
  std::span<const double> freed_us() const { return freed_us_; }
  std::span<const double> transfer_start_us() const { return transfer_start_us_; }
  std::span<const double> transfer_end_us() const { return transfer_end_us_; }
  std::span<const std::int64_t> peak_bytes() const { return peak_bytes_; }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr double kNotSent = -1.0;
  static constexpr std::int32_t kNone = -1;
  static constexpr std::int32_t kNoOp = -2;  // differs from kNone, which an idle device runs
  static constexpr std::size_t kPad = 4;     // entries that may be copied beyond the end of a queue
  static constexpr std::size_t kConsumers = 4;  // consumers that are visited together

  // What a turn needs to know of an op, in one place.
  struct OpFacts {
    const Problem::Child* consumers = nullptr;  // by name, padded to a multiple of kConsumers
    const Problem::Child* consumers_end = nullptr;
    double gap_us = 0;
    std::int32_t num_parents = 0;
    std::int32_t num_consumers = 0;
    std::int32_t only_output = kNone;  // the output that all consumers read, or kNone
  };

  // An output on its way to the consumers on other devices.
  struct Transfer {
    double start_us;
    double arrives_us;
    std::int32_t output;
    OpId producer;
  };

  // One device with its outgoing channel.
  struct Station {
    double* arrival = nullptr;  // among the events: when the next transfer of its channel arrives
    double* turn = nullptr;     // and when the device takes its turn
    DeviceId device = 0;
    const double* costs_us = nullptr;
    double free_us = 0;             // when the device can take the next op
    double channel_free_us = 0;     // when its channel can take the next output
    OpId running = kNone;           // the last op started
    double settles_us = kNever;     // when it ends, kNever once its pending consumers are queued
    OpId* pending_begin = nullptr;  // its consumers that are ready as soon as it ends, by name
    OpId* pending_tail = nullptr;
    OpId* ready_begin = nullptr;  // queue of ready ops; those before `ready_head` were started
    OpId* ready_head = nullptr;
    OpId* ready_tail = nullptr;
    Transfer* sent_head = nullptr;  // transfers that have not arrived yet, in order
    Transfer* sent_tail = nullptr;
  };

  // What consumers are looked up for.
  struct OpState {
    Station* home;
    std::int32_t waiting;      // producers that have neither delivered nor started on this device
    OpId last_local_producer;  // the last that started on this device
  };

  void reset(const Placement& placement);
  void deliver(Station& sender, double now_us);
  void hand_over(const Transfer& transfer, const Station& sender, const Problem::Child& child,
                 double now_us);
  bool deliver_all(double now_us);
  void settle(Station& station);
  void postpone(Station& station, OpId op);
  void take_turn(Station& station, double now_us);
  void send(Station& station, OpId producer, std::int32_t output, double ready_us, bool is_wanted);

  const Problem& problem_;
  const double gap_after_transfer_us_;

  // Results, by op, output and device.
  double makespan_us_ = 0;
  std::vector<double> start_us_;
  std::vector<double> end_us_;
  std::vector<double> freed_us_;
  std::vector<double> transfer_start_us_;
  std::vector<double> transfer_end_us_;
  std::vector<std::int64_t> peak_bytes_;

  // The problem, as the engine reads it.
  std::vector<OpFacts> facts_;  // by op
  std::vector<Problem::Child> consumers_;
  std::vector<double> transfer_us_;  // by output
  std::vector<OpId> roots_;
  std::vector<std::size_t> group_ops_;
  std::vector<std::size_t> group_outputs_;

  std::vector<OpState> state_;  // by op

  // Devices in use, in the byte order of their names, in which the rules serve events at one
  // instant. Events: for each of them the next arrival from its channel, then its next turn. The
  // queues are stretches of shared storage, longer than needed, because ops are written beyond the
  // tail of a queue before it is known whether they stay.
  std::size_t num_slots_ = 0;
  std::vector<Station> stations_;  // and one behind those in use, where nothing ever happens
  OpId nowhere_ = kNone;
  std::vector<double> events_;  // in microseconds, kNever where nothing is to come
  std::vector<OpId> ready_storage_;
  std::vector<OpId> pending_storage_;
  std::vector<double> ready_start_us_;  // beside ready_storage_: when the op started
  std::vector<Transfer> sent_storage_;

  // Scratch.
  std::vector<Station*> station_of_device_;
  std::vector<std::size_t> num_ready_;
  std::vector<std::size_t> num_sent_;
  std::vector<Station*> arriving_;
  MemoryPeaks memory_;
  std::vector<double> last_use_us_;  // by op: when its inputs may be freed
  std::vector<double> frees_us_;
  std::vector<std::int64_t> allocations_;
};

}  // namespace emplace

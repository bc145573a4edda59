#pragma once

// The `placeto` event engine. Rule numbers refer to sim/README.md.
//
// Of the rules' events only one kind is left: a device takes its turn. The others follow from it. A
// channel serves outputs in the order in which its device computes them, so when an op starts, it
// is known when each consumer will have its output. An op that hears this from its last producer
// joins the queue of its device, sorted by the moment at which it will be ready; turns are taken in
// the order of time, so nothing that is ready earlier can turn up later. Where moments coincide,
// `Moment::order` is the place of the event among all events of that instant, so that queues are
// those of the rules to the last tie.
//
// What comes next cannot be foreseen by a processor. Hence the arithmetic of instant.hpp where one
// would write `if`, and consumers and devices in blocks, padded with some that are nobody.

#include "instant.hpp"
#include "memory_peaks.hpp"

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
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
  std::span<const double> transfer_start_us() const { return by_output(transfer_start_us_); }
  std::span<const double> transfer_end_us() const { return by_output(transfer_end_us_); }
  std::span<const std::int64_t> peak_bytes() const { return peak_bytes_; }

 private:
  static constexpr double kNotSent = -1.0;
  static constexpr std::int32_t kNone = -1;
  static constexpr std::int32_t kConsumers = 2;  // consumers that are visited together
  static constexpr std::size_t kStations = 4;    // stations that are compared together

  // A moment at which an event happens. Events of one instant come in ascending order: those under
  // way before, by the names of producer and consumer; then transfers that take no time, by
  // channel; then what starts and ends at this instant, as it comes (rule 5).
  struct Moment {
    Instant at;
    std::uint64_t order;
  };
  static constexpr std::uint64_t kAtOnceByChannel = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kAtOnceAsItComes = std::uint64_t{2} << 62;
  static constexpr int kRankBits = 31;  // an OpId is not negative
  static constexpr std::uint32_t kRankMask = (std::uint32_t{1} << kRankBits) - 1;

  // What a turn needs to know of an op, in half a line of the cache.
  struct alignas(32) OpFacts {
    OpId consumers[kConsumers];   // the first by name, filled up with nobody
    std::int32_t more_consumers;  // where the others are, in blocks filled up in the same way
    std::int32_t num_consumers;
    double transfer_us;         // of the output that all consumers read
    std::int32_t only_output;   // that output, kNone if they read several
    std::uint32_t has_gap : 1;  // whether the device rests after the op
    std::uint32_t name_rank : kRankBits;
  };
  static_assert(sizeof(OpFacts) == 32);

  struct Entry {
    Instant ready;
    OpId op;
  };

  // One device with its outgoing channel.
  struct alignas(64) Station {
    Instant turn = kNever;       // when the device takes its turn
    Instant free = 0;            // when the device can take the next op
    double channel_free_us = 0;  // when its channel can take the next output
    const double* costs_us = nullptr;
    Entry* ready_begin = nullptr;  // queue of ops by moment; those before `ready_head` were started
    Entry* ready_head = nullptr;
    Entry* ready_tail = nullptr;
    DeviceId device = kNone;
    std::uint32_t slot = 0;
  };

  // What a producer looks up and changes of its consumers.
  struct OpState {
    Moment ready;          // the last delivery so far
    std::int32_t waiting;  // producers that have not started yet
    std::uint32_t slot;    // of its device
  };

  std::span<const double> by_output(const std::vector<double>& times) const {
    return {times.data(), times.size() - 1};
  }
  void reset(const Placement& placement);
  Station& next_station();
  void take_turn(Station& station);
  std::int32_t tell_block(const Station& station, const OpId* block, const Moment& here,
                          const Moment& elsewhere);
  void finish(Station& station, OpId op, double now_us);
  void tell(OpId op, Moment delivery);
  void sort_in(Station& station, Entry* entry);

  const Problem& problem_;
  const double gap_us_[2];  // after an op without and with a gap
  const double gap_after_transfer_us_;

  // Results, by op, output and device. Behind the last output there is one that nobody reads.
  double makespan_us_ = 0;
  std::vector<double> start_us_;
  std::vector<double> end_us_;
  std::vector<double> freed_us_;
  std::vector<double> transfer_start_us_;
  std::vector<double> transfer_end_us_;
  std::vector<std::int64_t> peak_bytes_;

  // The problem, as the engine reads it.
  std::vector<OpFacts> facts_;  // by op
  std::vector<OpId> more_consumers_;
  std::vector<double> transfer_us_;  // by output
  std::vector<OpId> roots_;
  std::vector<std::size_t> group_ops_;

  std::vector<OpState> state_;  // by op

  // Devices in use, in the byte order of their names, in which the rules serve them at one instant.
  // The queues are stretches of shared storage, one entry longer than needed, because an op is
  // written to the tail of a queue before it is known whether it stays.
  std::size_t num_slots_ = 0;
  std::vector<Station> stations_;  // filled up to a whole block, and the home of nobody behind them
  std::vector<Entry> ready_storage_;
  std::uint64_t num_at_once_ = 0;  // deliveries that took no time so far

  // Scratch.
  std::vector<std::uint32_t> slot_of_device_;
  std::vector<std::size_t> num_ready_;
  MemoryPeaks memory_;
  std::vector<double> last_use_us_;  // by op: when its inputs may be freed
  std::vector<double> starts_us_;    // of the ops of a device, in order of their starts
  std::vector<double> frees_us_;
  std::vector<std::int64_t> allocations_;
};

}  // namespace emplace

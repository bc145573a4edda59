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
// A placement that differs from the one before in few groups is replayed (placeto_replay.hpp), with
// the same results to the last bit. Callers need not care: searches that try one move after the
// other gain by it, and where most groups are elsewhere the comparison costs next to nothing.
//
// What comes next cannot be foreseen by a processor. Hence the arithmetic of instant.hpp where one
// would write `if`, and consumers and devices in blocks, padded with some that are nobody.

#include "instant.hpp"
#include "memory_peaks.hpp"
#include "moved_groups.hpp"
#include "placeto_replay.hpp"
#include "placeto_times.hpp"

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

  /// Says whether the last run was a replay of the one before.
  bool was_replay() const { return last_run_ == LastRun::kReplay; }

  /// Forgets the last run, so that the next one is full: for comparing the two.
  void forget() { last_run_ = LastRun::kNone; }

  /// Return the results of the last run, as SimResult describes them.
  double makespan_us() const { return makespan_us_; }
  std::span<const double> start_us() const { return times_.start_us; }
  std::span<const double> end_us() const { return times_.end_us; }
  std::span<const double> freed_us() const { return freed_us_; }
  std::span<const double> transfer_start_us() const { return by_output(times_.transfer_start_us); }
  std::span<const double> transfer_end_us() const { return by_output(times_.transfer_end_us); }
  std::span<const std::int64_t> peak_bytes() const { return peak_bytes_; }

 private:
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
    double transfer_us;         // of the only output
    std::int32_t only_output;   // PlacetoTimes::only_output()
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
    DeviceId device = PlacetoTimes::kNone;
    std::uint32_t slot = 0;
  };

  // What a producer looks up and changes of its consumers.
  struct OpState {
    Moment ready;          // the last delivery so far
    std::int32_t waiting;  // producers that have not started yet
    std::uint32_t slot;    // of its device
  };

  static std::span<const double> by_output(std::span<const double> times) {
    return times.first(times.size() - 1);
  }
  bool replay(const Placement& placement);
  void simulate(const Placement& placement);
  void reset(const Placement& placement);
  Station& next_station();
  void take_turn(Station& station);
  std::int32_t tell_block(const Station& station, const OpId* block, const Moment& here,
                          const Moment& elsewhere);
  void finish(Station& station, OpId op, double now_us);
  void tell(OpId op, Moment delivery);
  void sort_in(Station& station, Entry* entry);
  void free_outputs();
  void find_peaks();
  void find_peaks_of_replay(const Placement& placement);

  const Problem& problem_;
  const double gap_us_[2];  // after an op without and with a gap

  // Results.
  PlacetoTimes times_;
  double makespan_us_ = 0;
  std::vector<double> freed_us_;          // by op
  std::vector<std::int64_t> peak_bytes_;  // by device

  // The last run, from which a replay starts.
  enum class LastRun : std::uint8_t { kNone, kFull, kReplay };
  LastRun last_run_ = LastRun::kNone;
  MovedGroups moved_;
  PlacetoReplay replay_;

  // The problem, as the engine reads it.
  std::vector<OpFacts> facts_;  // by op
  std::vector<OpId> more_consumers_;
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
  OpId* next_turn_ = nullptr;      // in `times_.turns`

  // Scratch.
  std::vector<std::uint32_t> slot_of_device_;
  std::vector<std::size_t> num_ops_on_;  // by device
  MemoryPeaks memory_;
  bool is_remembered_ = false;       // by `memory_`: the replays so far
  std::vector<OpId> allocating_;     // ops, device by device, in order of their starts
  std::vector<double> starts_us_;    // of these
  std::vector<double> frees_us_;     // as well
  std::vector<std::int64_t> bytes_;  // as well
  std::vector<std::size_t> ends_;    // by device: where its ops end
};

}  // namespace emplace

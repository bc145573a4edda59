#pragma once

// Runs a placement that differs little from the one before, without an event queue.
//
// A device runs its ops in the order of the moments at which they are ready. So a step is settled
// by one order of all ops that agrees with the graph and, on each device, with those moments: each
// op starts at the later of two times that are known by then, when it is ready and when its device
// is free. A few groups on other devices hardly change that order. Hence a replay goes through the
// ops in the order of the last run, from the first one that the moves can touch, and holds each
// against the one before it on its device. Where the order proves wrong, the ops since are sorted
// by what has been found out about them and gone through again. The results are those of a full run
// to the last bit. A replay gives up, for a full run to follow, where too much would have to be
// gone through again, and where two ops are ready at one instant and only the events of that
// instant could tell which is first.

#include "placeto_times.hpp"

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace {

/// Replays steps of one problem; a workspace of one thread. After its construction it allocates
/// nothing.
class PlacetoReplay {
 public:
  /// Prepares a workspace on the times that full runs and replays share.
  PlacetoReplay(const Problem& problem, PlacetoTimes& times);

  PlacetoReplay(const PlacetoReplay&) = delete;
  PlacetoReplay& operator=(const PlacetoReplay&) = delete;

  /// Takes over the full run of `placement` that the times are of.
  void adopt(const Placement& placement);

  /// Puts a group on another device. Requires: the last run was adopted, or a replay.
  void move(GroupId group, DeviceId device);

  /// Replays the step with the moves since the last run. Returns whether it succeeded; if not, the
  /// times are of no use.
  bool run();

  /// Returns the last event of the last replay.
  double makespan_us() const;

 private:
  static constexpr std::size_t kSources = 2;  // sources that are visited together

  // What a turn needs to know of an op, in half a line of the cache.
  struct alignas(32) OpFacts {
    std::int32_t sources;      // where they begin, in blocks filled up with one that is 0
    std::int32_t sources_end;  // where they end, without what fills up
    std::int32_t only_output;  // PlacetoTimes::only_output()
    DeviceId device;
    double transfer_us;  // of the only output
    double gap_us;       // for which the device rests after the op
  };

  // What a turn leaves behind on its device.
  struct alignas(32) Turn {
    double ready_us;
    double device_free_us;
    double channel_free_us;
    OpId previous;       // on the device; of the first one, nobody
    std::int32_t place;  // among all ops
  };

  // What a consumer reads: an op's output.
  struct Input {
    OpId producer;
    std::int32_t output;
  };

  enum class Order : std::uint8_t { kRight, kWrong, kUnknown };

  OpId nobody_on(DeviceId device) const { return problem_.num_ops() + device; }
  bool is_root(OpId op) const;
  void connect(OpId consumer, std::int32_t input);
  void unwind(std::int32_t place);
  double ready_us(const OpFacts& facts) const;
  void take_turn(OpId op, const OpFacts& facts, OpId previous);
  Order order_of(OpId first, OpId second) const;
  bool is_before(OpId first, OpId second) const;
  std::int32_t only_source(OpId op) const;
  std::uint64_t tie_order(OpId op) const;
  std::uint64_t delivery_order(const Input& input, bool is_elsewhere, double at_us) const;
  std::int32_t sort_in(std::int32_t place);

  const Problem& problem_;
  PlacetoTimes& times_;

  std::vector<OpFacts> facts_;             // by op
  std::vector<Input> inputs_;              // of all ops, in blocks as in `facts_`
  std::vector<std::int32_t> sources_;      // where each input stands in `times_.known_us`
  std::vector<std::int32_t> readers_;      // the inputs that read an op, for each child of each op
  std::vector<std::size_t> first_reader_;  // by op
  std::vector<std::int32_t> num_elsewhere_;  // by output: consumers on other devices
  std::vector<std::uint64_t> device_ranks_;  // in the byte order of their names

  std::vector<Turn> turns_;         // by op, and for each device one of nobody
  std::vector<OpId> last_;          // by device: the last that took its turn
  std::int64_t cost_revision_ = 0;  // of the problem, in the last replay
  std::int32_t first_changed_ = 0;  // the first place that the moves can touch
};

}  // namespace emplace

#pragma once

// Runs a placement that differs little from the one before, without an event queue. Rule numbers
// refer to docs/concepts/simulation.md.
//
// A device runs its ops in the order of the times at which they are ready. So a step is settled by
// one order of all ops that agrees with the graph and, on each device, with those times: each op
// starts at the later of two times that are known by then, when it is ready and when its device is
// free. A few groups on other devices hardly change that order. Hence an incremental run goes
// through the ops in the dispatch order of the last run, from the first one that the moves can
// touch, and compares each with the one before it on its device. Where the order proves wrong, it
// sorts the ops since by what has been found out about them, and goes through them again. The
// results are those of a full run to the last bit. It gives up, for a full run to follow, where too
// much would have to be gone through again, and where two ops are ready at one time and only the
// events of that time could show which is first.

#include "step_times.hpp"

#include <emplace/graphs/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace::placeto {

/// Runs steps of one problem incrementally; a workspace of one thread. After its construction it
/// allocates nothing.
class IncrementalRun {
 public:
  /// Prepares a workspace on the times that full and incremental runs share.
  IncrementalRun(const Problem& problem, StepTimes& times);

  IncrementalRun(const IncrementalRun&) = delete;
  IncrementalRun& operator=(const IncrementalRun&) = delete;

  /// Starts from the full run of `placement` whose times these are.
  void start_from(const Placement& placement);

  /// Puts a group on another device. Requires: start_from() was called for the last run, or that
  /// was an incremental one.
  void move(GroupId group, DeviceId device);

  /// Runs the step with the moves since the last run. Returns whether it succeeded; if not, the
  /// times are of no use.
  bool run();

  /// Returns the last event of the last incremental run.
  double makespan_us() const;

 private:
  static constexpr std::size_t kBlock = 2;  // sources that are visited together

  // What dispatching an op needs to know of it, in half a line of the cache.
  struct alignas(32) Row {
    std::int32_t sources;      // where they begin, in blocks filled up with one that is 0
    std::int32_t sources_end;  // where they end, without what fills up
    OutputId only_output;      // StepTimes::only_output()
    DeviceId device;
    double transfer_us;  // of the only output
    double gap_us;       // for which the device rests after the op
  };

  // What the dispatch of an op leaves behind on its device.
  struct alignas(32) Dispatch {
    double ready_us;
    double device_free_us;
    double channel_free_us;
    OpId previous;       // on the device; of the first one, the sentinel
    std::int32_t place;  // among all ops
  };

  // What a consumer reads: an op's output.
  struct Input {
    OpId producer;
    OutputId output;
  };

  enum class Order : std::uint8_t { kRight, kWrong, kUnknown };

  OpId sentinel_of(DeviceId device) const { return problem_.num_ops() + device; }
  bool is_root(OpId op) const;
  void connect(OpId consumer, std::int32_t input);
  void roll_back(std::int32_t place);
  double ready_us(const Row& row) const;
  void dispatch(OpId op, const Row& row, OpId previous);
  Order order_of(OpId first, OpId second) const;
  bool is_before(OpId first, OpId second) const;
  std::int32_t only_source(OpId op) const;
  std::uint64_t tie_order(OpId op) const;
  std::uint64_t delivery_order(const Input& input, bool is_elsewhere, double at_us) const;
  std::int32_t reorder(std::int32_t place);

  const Problem& problem_;
  StepTimes& times_;

  IdVector<OpId, Row> rows_;
  IdVector<std::int32_t, Input> inputs_;          // of all ops, in blocks as in `rows_`
  IdVector<std::int32_t, std::int32_t> sources_;  // of each input: where it is in `times_.known_us`
  std::vector<std::int32_t> readers_;  // inputs that read an op, by each child of each op
  IdVector<OpId, std::size_t> first_reader_;
  IdVector<OutputId, std::int32_t> num_elsewhere_;  // consumers on other devices
  IdVector<DeviceId, std::uint64_t> device_ranks_;  // in the byte order of their names

  IdVector<OpId, Dispatch> dispatches_;  // and the sentinel of each device
  IdVector<DeviceId, OpId> last_;        // the last that was dispatched
  std::int64_t cost_revision_ = 0;       // of the problem, in the last incremental run
  std::int32_t first_changed_ = 0;       // the first place that the moves can touch
};

}  // namespace emplace::placeto

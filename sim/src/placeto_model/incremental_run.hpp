#pragma once

// Runs placements that differ little from a base, without an event queue. Rule numbers refer to
// docs/concepts/simulation.md.
//
// A device runs its ops in the order of the times at which they are ready. So a step is settled by
// one order of all ops that agrees with the graph and, on each device, with those times: each op
// starts at the later of two times that are known by then, when it is ready and when its device is
// free. A few groups on other devices hardly change that order. Hence an incremental run goes
// through the ops in the order of the base, from the first one that the moves can touch, and
// compares each with the one before it on its device. Where the order proves wrong, it puts the op
// where it belongs and goes on from there. It ends early where all devices are as in the base, and
// nothing that changed is read later: the rest of the step is that of the base. It cannot end where
// an op is seen to be too late: as long as the order may prove wrong, that op may still start
// earlier. The next run starts from the base again, unless this one is made the base; so what a run
// changed is all that is ever copied. The results are those of a full run to the last bit. A run
// gives up, for a full run to follow, where too much would have to be gone through again, and where
// two ops are ready at one time and only the events of that time could show which is first.
//
// Complexity: O(ops + edges) from the first change to the last, with a small constant.

#include "dispatch_sequence.hpp"
#include "step_times.hpp"
#include "tie_breaking.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace::placeto_model {

/// Runs steps of one problem incrementally; a workspace of one thread. After its construction it
/// allocates nothing.
class IncrementalRun {
 public:
  /// Prepares a workspace. Requires: both outlive it.
  IncrementalRun(const Problem& problem, const CostTable& costs);

  IncrementalRun(const IncrementalRun&) = delete;
  IncrementalRun& operator=(const IncrementalRun&) = delete;

  /// Makes the step of `placement` the base; `order` is the dispatch order of a full run of it.
  /// Returns whether it succeeded; if not, there is no base.
  bool start_from(const Placement& placement, std::span<const OpId> order);

  /// Runs the base after moves of different groups. Returns whether it succeeded; if not, the times
  /// are of no use. Requires: there is a base.
  bool run(std::span<const Move> moves);

  /// Makes the last run the base. Requires: it succeeded.
  void make_base();

  /// Returns the last event of the last run. Requires: it succeeded.
  double makespan_us() const { return makespan_us_; }

  /// Completes the times of the last run, and returns them. Requires: it succeeded.
  const StepTimes& times();

 private:
  static constexpr std::int32_t kCheckPlaces = 32;  // from one look for the base to the next

  using Row = DispatchSequence::Row;
  using Record = DispatchSequence::Record;

  struct alignas(64) DeviceTimes {
    const double* costs_us = nullptr;
    double ready_us = 0;  // of the last op
    double free_us = 0;
    double channel_free_us = 0;
    OpId last = 0;
    bool is_taken_back = false;  // in reorder(): some of its last ops are
  };

  // What runs start from.
  struct Base {
    IdVector<std::int32_t, Record> records;
    std::vector<double> known_us;  // as StepTimes::known_us
    IdVector<OutputId, double> transfer_start_us;
    std::vector<OpId> last_ops;  // of each device, before each kCheckPlaces-th place
    double makespan_us = 0;
  };

  // A group that is not on its device in the base.
  struct Moved {
    GroupId group;
    DeviceId from;
  };

  // Places from `begin` to `end`.
  struct Range {
    std::int32_t begin = 0;
    std::int32_t end = 0;
  };

  OpId sentinel_of(DeviceId device) const { return num_ops_ + device; }
  bool sweep_all();
  void go_back();
  void touch(Range range);
  void move(GroupId group, DeviceId device);
  void connect(OpId consumer, std::int32_t input);
  template <class From, class To>
  void copy_times(const From& from, To& to) const;
  void set_devices_before(std::int32_t place);
  void set_device(DeviceId device, OpId last);
  bool sweep(std::int32_t place);
  bool has_rejoined(std::int32_t place);
  bool is_as_in_base(OpId op) const;
  bool has_new_times(OpId op) const;
  void find_last_ops();
  OpId* last_ops_before(std::int32_t place) {
    return base_.last_ops.data() + index_of(place / kCheckPlaces) * devices_.size();
  }
  double ready_us(const Row& row) const;
  void dispatch(std::int32_t place, OpId op, const Row& row, double ready_us);
  std::int32_t reorder(std::int32_t place);
  bool reads_what_is_taken_back(OpId op) const;

  const Problem& problem_;
  const OpId num_ops_;

  // The last run.
  StepTimes times_;
  DispatchSequence sequence_;

  // Views of the sequence.
  IdSpan<OpId, Row> rows_;
  IdSpan<std::int32_t, const DispatchSequence::Input> inputs_;
  IdSpan<std::int32_t, std::int32_t> sources_;
  IdSpan<std::int32_t, Record> records_;
  IdSpan<OpId, std::int32_t> place_;

  TieBreaking ties_;
  std::vector<std::int32_t> readers_;  // inputs that read an op, by each child of each op
  IdVector<OpId, std::size_t> first_reader_;
  IdVector<OutputId, std::int32_t> num_elsewhere_;  // consumers on other devices
  IdVector<DeviceId, DeviceTimes> devices_;
  double makespan_us_ = 0;
  std::vector<Moved> moved_;
  std::int32_t first_touched_ = 0;  // the first place that the moves can touch
  std::int32_t last_touched_ = 0;   // the last one of what moves, and what reads it
  std::int32_t next_check_ = 0;     // where to look next whether all is as in the base
  Range changed_;                   // where the run may differ from the base
  Range stale_;                     // where times() has to complete `times_`

  Base base_;

  // Scratch of reorder().
  struct TakenBack {
    OpId op;
    OpId previous;
  };
  std::vector<TakenBack> taken_back_;
  IdVector<OpId, std::int64_t> taken_back_in_;  // the number of the last reorder() that did
  std::int64_t num_reorders_ = 0;
};

}  // namespace emplace::placeto_model

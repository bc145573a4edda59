#pragma once

// What memory and transfers would be if some groups of a simulated step were on other devices and
// all ops kept their times. The memory rules are those of the cluster's model
// (docs/concepts/simulation.md); transfers take what they take alone. Who reads a view is taken to
// read what it is a view of, and an op writes over the input over which it did in the record, or
// over none. A step simulated with that placement has other times, so this is an estimate; of the
// recorded placement it is exact, but for the times at which transfers end and for views on other
// devices than what they show.

#include "peak_tree.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents {

/// Estimates placements that differ from a recorded one. One thread.
class MemoryEstimate {
 public:
  /// Prepares for `problem`. O(uses log uses). Requires: `problem` outlives it.
  explicit MemoryEstimate(const Problem& problem);

  /// Takes the times and the placement of a step. O(uses log ops).
  void start(const StepRecord& record);

  /// Returns the present placement.
  const Placement& placement() const { return placement_; }

  /// Returns the most that is taken at once on `device`.
  std::int64_t peak_bytes(DeviceId device) const {
    return persistent_bytes_[device] + curves_[device].peak();
  }

  /// Returns, for each group on `device`, its part of what is there at the peak. Weights and
  /// workspace are the group's own; a tensor is shared by those groups that must all leave the
  /// device before it is free.
  IdSpan<GroupId, const double> parts_of_peak(DeviceId device);

  /// Puts `group` on `device`. O(uses of what it produces and reads * log ops).
  void move(GroupId group, DeviceId device);

  /// Returns how much longer transfers would take in all if `group` were on `device`.
  double added_transfer_us(GroupId group, DeviceId device) const;

  /// Calls `visit(neighbour)` for all groups that read what `group` produces or reads, or produce
  /// what it reads; the same may come again.
  template <class Visit>
  void visit_neighbours(GroupId group, Visit visit) const {
    for (const Touch& touch : touches(group)) {
      visit(problem_.grouping().group_of(producer_[touch.output]));
      for (const OpId consumer : consumers_of(touch.output)) {
        visit(problem_.grouping().group_of(consumer));
      }
    }
  }

 private:
  static constexpr OutputId kNone = -1;

  // That a group produces or reads an output.
  struct Touch {
    OutputId output;
    std::int32_t num_readers;  // ops of the group that read it
    bool is_producer;
  };
  // Positions among the starts of ops, of which an op is there for [begin, end).
  struct Interval {
    std::size_t begin = 0;
    std::size_t end = 0;

    bool contains(std::size_t position) const { return begin <= position && position < end; }
  };

  std::span<const Touch> touches(GroupId group) const {
    return {touches_.data() + touch_begin_[group], touches_.data() + touch_begin_[group + 1]};
  }
  // Those of views of the output included.
  std::span<const OpId> consumers_of(OutputId output) const {
    return {consumers_.data() + consumer_begin_[output],
            consumers_.data() + consumer_begin_[output + 1]};
  }
  GroupId group_of(OpId op) const { return problem_.grouping().group_of(op); }
  DeviceId device_of(OpId op) const { return placement_[group_of(op)]; }
  std::size_t cell(OutputId output, DeviceId device) const {
    return index_of(output) * index_of(problem_.num_devices()) + index_of(device);
  }

  std::size_t position_of(double us) const;
  void find_consumers();
  void find_touches();
  void find_overwritten(const StepRecord& record);
  void add_own(GroupId group, std::int64_t sign);
  void add_output(OutputId output, std::int64_t sign);
  template <class Visit>
  void visit_own(GroupId group, Visit visit) const;
  template <class Visit>
  void visit_output(OutputId output, Visit visit);
  double transfers_us(const Touch& touch, DeviceId from, DeviceId to) const;

  const Problem& problem_;
  bool is_placeto_;
  IdVector<OutputId, OpId> producer_;
  IdVector<OutputId, std::size_t> consumer_begin_;
  std::vector<OpId> consumers_;
  IdVector<GroupId, std::size_t> touch_begin_;
  std::vector<Touch> touches_;

  Placement placement_;
  std::vector<double> starts_us_;  // of all ops, ascending, each once
  IdVector<OpId, double> end_us_;
  IdVector<OpId, Interval> runs_;
  IdVector<OpId, OutputId> overwritten_;  // by the op, in the record, or kNone
  IdVector<OpId, std::size_t> freed_;     // `placeto`: where the outputs of an op end
  std::vector<std::int32_t> readers_;     // by output and device
  IdVector<DeviceId, PeakTree> curves_;
  IdVector<DeviceId, std::int64_t> persistent_bytes_;
  IdVector<GroupId, double> parts_;

  // Scratch.
  IdVector<DeviceId, std::size_t> read_until_;
  std::vector<GroupId> holders_;
};

}  // namespace emplace::agents

#pragma once

// What all parts of an explanation ask of a step.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Answers questions about a step in the same words for all three models. In the `placeto` model
/// the links are the devices' channels, of which each transfer uses one.
class StepFacts {
 public:
  static constexpr std::int32_t kNone = -1;

  /// Says what an op got last of all that it waited for.
  struct Arrival {
    double at_us = 0;
    OpId producer = kNone;          ///< kNone if it waits for nothing
    std::int32_t transfer = kNone;  ///< by which it came, if it came from another device
  };

  /// Indexes a step. Requires: both outlive this object.
  StepFacts(const Problem& problem, const StepRecord& record);

  const Problem& problem() const { return problem_; }
  const StepRecord& record() const { return record_; }

  DeviceId device_of(OpId op) const { return record_.placement[problem_.grouping().group_of(op)]; }
  const Transfer& transfer(std::int32_t id) const { return record_.transfers[id]; }
  double start_us(OpId op) const { return record_.start_us[op]; }

  /// Returns when the device can run another op in the place of `op`.
  double free_us(OpId op) const { return record_.end_us[op] + problem_.gap_us(op); }

  /// Returns how long a channel rests after a transfer.
  double gap_after_transfer_us() const { return gap_after_transfer_us_; }

  /// Says whether latencies occupy the links (`grappler`) or pass before transfers reach them.
  bool has_latency_on_link() const { return has_latency_on_link_; }

  /// Returns what transfers occupy.
  const IdVector<std::int32_t, Link>& links() const { return links_; }
  const Link& link(std::int32_t id) const { return links_[id]; }

  /// Returns the links that a transfer occupies.
  std::span<const std::int32_t> route(const Transfer& transfer) const;

  /// Returns the first of the slowest links of the route; links other than `without` if there are.
  std::int32_t slowest_link(const Transfer& transfer, std::int32_t without = kNone) const;

  /// Return what the transfer needs if nothing else moves: before its first byte, and for its
  /// bytes.
  double latency_us(const Transfer& transfer) const;
  double moving_us(const Transfer& transfer) const;

  /// Returns from when on the transfer asks its links to move it.
  double asks_us(const Transfer& transfer) const;

  /// Says whether the transfer occupies its links at all; one of nothing may not.
  bool occupies_links(const Transfer& transfer) const;

  /// Returns what `op` got last; the first listed where several came at one moment.
  Arrival last_arrival(OpId op) const;

  /// Returns, by device, the ops that it ran, by the time at which they left it; of those that left
  /// it together the one that started first comes last.
  const IdVector<DeviceId, std::vector<OpId>>& ops_by_end() const { return ops_by_end_; }

 private:
  // What an op waits for: an output, or Dependency::kControl.
  struct Input {
    OpId producer;
    std::int32_t output;
  };

  void index_inputs();
  void index_transfers();
  Arrival arrival(OpId consumer, const Input& input) const;

  const Problem& problem_;
  const StepRecord& record_;
  bool is_placeto_;
  bool has_latency_on_link_;
  double gap_after_transfer_us_ = 0;
  IdVector<std::int32_t, Link> links_;
  IdVector<DeviceId, std::int32_t> channels_;  // placeto: the route of each
  IdVector<OpId, std::size_t> input_begin_;
  std::vector<Input> inputs_;
  std::vector<std::int32_t> transfers_;  // by output and target
  IdVector<DeviceId, std::vector<OpId>> ops_by_end_;
};

/// Returns what rounding may add to a time: the engines take what ends this close together for one
/// instant.
inline double rounding_us(double us) { return 2e-6 + us * 2e-12; }

}  // namespace emplace

#pragma once

// Which of two ops of a device goes first, also where they are ready at one time. Rule numbers
// refer to docs/concepts/simulation.md.
//
// Ops run in the order of their ready times. At one time, the rules put the op first whose last
// delivery comes first among the events of that time, then the op whose name comes first (rules 5
// and 10). Without an event queue, the order of deliveries (EventLoop::EventKey) follows from the
// sequence of dispatches: by the names of producers where a delivery took time; then those of
// transfers that take no time, by channel; then those of ops that take no time, as they come. Only
// the place of the last kind among those from other devices does not follow.
//
// Complexity: O(inputs) of the two ops at one time, else O(1).

#include "dispatch_sequence.hpp"
#include "step_times.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>

namespace emplace::placeto_model {

/// Compares ops by the tie-breaking rules of the `placeto` engine.
class TieBreaking {
 public:
  enum class Order : std::uint8_t { kRight, kWrong, kUnknown };

  /// Prepares for comparing ops of the sequence. Requires: all outlive it.
  TieBreaking(const Problem& problem, const DispatchSequence& sequence, const StepTimes& times);

  /// Says whether it is right that `first` goes before `second` on their device. Requires: both
  /// have their ready times, and what they read was dispatched.
  Order order_of(OpId first, OpId second) const;

  /// Compares two ops, of one device or not, by when they are ready, and as far as it is known, by
  /// what the rules say about one time. An op always comes after those that it reads. Requires: as
  /// order_of().
  bool is_before(OpId first, OpId second) const;

 private:
  std::int32_t only_source(OpId op) const;
  std::uint64_t tie_order(OpId op) const;
  std::uint64_t delivery_order(const DispatchSequence::Input& input, bool is_elsewhere,
                               double at_us) const;

  const Problem& problem_;
  const DispatchSequence& sequence_;
  const StepTimes& times_;
  IdVector<DeviceId, std::uint64_t> device_ranks_;  // in the byte order of their names
};

}  // namespace emplace::placeto_model

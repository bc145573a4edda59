#pragma once

// Puts ops that were on several devices on one of them, where the step is then shortest by
// simulation.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/placement_format.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace {

/// Changes one placement, and knows what it was. One thread.
class Joins {
 public:
  /// Begins with `placement`. Requires: each op is a group; `problem` outlives this.
  Joins(const Problem& problem, Placement placement);

  const Placement& placement() const { return placement_; }
  DeviceId device_of(OpId op) const { return placement_[op]; }

  /// Returns the devices on which `ops` are, or were at first, ascending.
  std::vector<DeviceId> devices_of(std::span<const OpId> ops) const;
  std::vector<DeviceId> first_devices_of(std::span<const OpId> ops) const;

  /// Moves one op.
  void move(OpId op, DeviceId device) { placement_[op] = device; }

  /// Is what a step takes: bytes over the memory, which count first, and microseconds.
  using Cost = std::pair<std::int64_t, double>;

  /// Simulates the present placement.
  Cost cost();

  /// Returns to an earlier placement.
  void restore(Placement placement) { placement_ = std::move(placement); }

  /// Returns what the step took at first.
  Cost first_cost() { return cost_of(first_); }

  /// Says whether enough was simulated: improvements are a matter of seconds.
  bool has_tried_enough() const;

  /// Returns the devices that agents choose from, and those in use, ascending.
  std::vector<DeviceId> candidates() const;

  /// Is a set of moves that may be tried.
  using Moves = std::vector<std::pair<OpId, DeviceId>>;

  /// Makes those moves of `choices` after which the step fits best and then is shortest, the first
  /// among equals. Requires: there is a choice.
  void make_best(const std::vector<Moves>& choices);

  /// Moves `ops` to the one of their devices where the step is shortest.
  void join(std::span<const OpId> ops);

  /// Returns how `ops` differ from what they were; nothing where they are all where they were.
  std::optional<JoinedOps> change_of(std::string what, std::span<const OpId> ops) const;

 private:
  Cost cost_of(const Placement& placement);

  const Problem& problem_;
  Simulator simulator_;
  std::int64_t simulations_ = 0;
  Placement first_;
  Placement placement_;
};

}  // namespace emplace

#pragma once

// A placement in which ops that the other program can only run on one device are brought together:
// on the one of their devices where the step is shortest by simulation. If it is then longer than
// on one device, all ops go there.

#include <emplace/bench/placement_format.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace::bench {

/// Changes one placement, and knows what it was. One thread.
class Colocation {
 public:
  /// Begins with `placement`. Requires: each op is a group; `problem` outlives this.
  Colocation(const Problem& problem, Placement placement);

  const Placement& placement() const { return placement_; }
  DeviceId device_of(OpId op) const { return placement_[problem_.grouping().group_of(op)]; }

  /// Returns the devices on which `ops` are, ascending.
  std::vector<DeviceId> devices_of(std::span<const OpId> ops) const;

  /// Moves one op.
  void move(OpId op, DeviceId device) { placement_[problem_.grouping().group_of(op)] = device; }

  /// Moves `ops` to the one of their devices on which the step is shortest.
  void colocate(std::span<const OpId> ops);

  /// A device for some ops.
  using Move = std::pair<std::vector<OpId>, DeviceId>;

  /// Makes the move after which the step is shortest, the first among equals. Requires: there is
  /// one.
  void make_best(std::span<const Move> moves);

  /// Moves all ops to the device on which the step is shortest, if it is shorter than now, and now
  /// longer than at first.
  void try_one_device();

  /// Returns how `ops` differ from what they were; nothing where they are all where they were.
  std::optional<ColocatedOps> change_of(std::string what, std::span<const OpId> ops) const;

 private:
  // Groups that break a constraint, which count first, bytes over the memory, and microseconds.
  using Cost = std::tuple<std::int64_t, std::int64_t, double>;

  Cost cost_of(const Placement& placement);

  const Problem& problem_;
  Simulator simulator_;
  Placement first_;
  Placement placement_;
};

}  // namespace emplace::bench

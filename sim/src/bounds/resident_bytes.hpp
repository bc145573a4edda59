#pragma once

// What must be in memory while some op runs, in any step, by the memory rules of all models
// (docs/concepts/simulation.md): the op's own memory, and every tensor that an op before it in the
// graph produces and it or an op after it reads. In the `placeto` model a tensor is on the device
// of its producer; in the others it, or the copy that was sent there as soon as the producer had
// ended, is on the device of each such reader.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Counts bytes that no placement can avoid. One thread.
class ResidentBytes {
 public:
  static constexpr GroupId kAllGroups = -1;

  /// Prepares for placements of `problem` on `devices`. O(ops). Requires: both outlive it.
  ResidentBytes(const Problem& problem, std::span<const DeviceId> devices);

  /// Returns the ops, at most 16, at which most tensors are alive if `ops` run one after the
  /// other in topological order. Only ops that take long enough everywhere for by_group() and
  /// during() to hold. O((ops + edges) * log ops).
  std::vector<OpId> fullest_ops(std::span<const OpId> ops) const;

  /// Returns what an op takes for itself while it runs.
  std::int64_t own_bytes(OpId op) const;

  /// Returns the bytes of tensors and workspace that are on the device of `group` when `op`, which
  /// is of the group, starts; only paths within the group count. kAllGroups: on all devices.
  std::int64_t during(OpId op, GroupId group);

  /// Returns for each group bytes that are on its device when `op` starts, weights and optimizer
  /// slots included. They add up: bytes of several groups on one device are not counted twice.
  IdVector<GroupId, std::int64_t> by_group(OpId op);

 private:
  enum class Mark : std::uint8_t { kNeither, kBefore, kAfter };

  bool is_long(OpId op) const;
  bool is_within(OpId op, GroupId group) const;
  void mark_before(OpId op, GroupId group);
  void mark_after(OpId op, GroupId group);
  void set_mark(OpId op, Mark mark);
  template <class Visit>
  void visit_alive(OpId op, GroupId group, Visit visit);

  const Problem& problem_;
  std::span<const DeviceId> devices_;
  bool is_placeto_;
  IdVector<OpId, std::size_t> position_;  // in topological order
  IdVector<OpId, Mark> mark_;
  std::vector<OpId> marked_;  // in the order of marking
  std::vector<OpId> stack_;
  IdVector<OutputId, bool> is_counted_;
  std::vector<OutputId> counted_;  // a view counts as what it shows
};

}  // namespace emplace

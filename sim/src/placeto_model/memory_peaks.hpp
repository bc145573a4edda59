#pragma once

// Peak memory of one device under the `placeto` engine (rules 14 and 15 of
// docs/concepts/simulation.md).
//
// An op's outputs are allocated at its start, and freed 1 us before the truncated end of the last
// of their consumers. At one time all allocations come before all frees. So the peak is reached
// right after an allocation, and what matters of a free is only which allocation is the first one
// later than it. Allocations come in time order, because a device starts its ops in time order;
// that first one is found through a table over equal slices of the step, so the whole costs O(ops)
// for evenly spread starts and O(ops log ops) at worst, without sorting. In a step that differs
// little from one before it is mostly the same op's, which takes two comparisons to see.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::placeto_model {

/// Computes peaks; one per thread and problem, reused for all devices and runs.
class MemoryPeaks {
 public:
  /// Grows the workspace to `ops` ops, so that nothing is allocated later.
  void reserve(std::size_t ops);

  /// Returns the largest number of bytes alive at once. The spans have one entry for each op of the
  /// device, in order of starts: when it starts, when its outputs are freed (not before its start),
  /// and their bytes.
  std::int64_t peak(std::span<const double> start_us, std::span<const double> free_us,
                    std::span<const std::int64_t> bytes);

  /// Remembers of the last call of peak() which op's allocation came first after each op's free.
  /// `ops` are those of that call.
  void remember(std::span<const OpId> ops);

  /// Returns the same as peak(), and remembers; faster where little is other than remembered. For
  /// devices of the workspace's one problem. Requires: ops below the number reserved.
  std::int64_t peak_again(std::span<const double> start_us, std::span<const double> free_us,
                          std::span<const std::int64_t> bytes, std::span<const OpId> ops);

 private:
  OpId sentinel() const { return later_.end_id(); }

  IdVector<std::int32_t, std::int32_t> start_slices_;
  std::vector<std::int32_t> free_slices_;  // then the position of the first allocation after
  IdVector<std::int32_t, std::int32_t> first_in_slice_;
  IdVector<std::int32_t, std::int64_t> freed_before_;
  IdVector<OpId, OpId> later_;             // whose allocation comes first after its free
  IdVector<OpId, std::int32_t> position_;  // on its device; of the sentinel, behind all others
};

}  // namespace emplace::placeto_model

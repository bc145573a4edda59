#pragma once

// Peak memory under rule 4 of the `physical` engine (sim/README.md), from the times of a replay.
//
// All that changes the memory of a device happens there: starts and ends of its ops, which come in
// the order of its queue, and starts and ends of transfers, which are noted in the order of time.
// So each device is gone through alone, by merging the two. What is taken and freed at one instant
// takes nothing; so memory is looked at when an instant is over.

#include "transfer_plan.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Finds peaks; a workspace of one thread. After its construction it allocates nothing.
class PhysicalMemory {
 public:
  /// Prepares a workspace on a plan that others change.
  PhysicalMemory(const Problem& problem, const TransferPlan& plan);

  /// Forgets all transfers.
  void reset() { changes_.clear(); }

  /// Note that a transfer started or ended; nearly in the order of time.
  void note_start(std::int32_t transfer, double at_us) { note({at_us, transfer, true}); }
  void note_end(std::int32_t transfer, double at_us) { note({at_us, transfer, false}); }

  /// Prepares for peak() after all transfers were noted.
  void sort_by_device();

  /// Returns the most bytes that are taken on a device at once. Takes its ops in the order in which
  /// they ran, and the times of all ops.
  std::int64_t peak(DeviceId device, std::span<const OpId> ops, std::span<const double> start_us,
                    std::span<const double> end_us);

 private:
  struct Change {
    double at_us;
    std::int32_t transfer;
    bool is_start;
  };

  void note(const Change& change);
  std::int64_t let_go(std::int32_t thing);
  DeviceId device_of(const Change& change) const {
    return change.is_start ? plan_.to(change.transfer) : plan_.from(change.transfer);
  }

  const Problem& problem_;
  const TransferPlan& plan_;
  std::vector<std::int64_t> bytes_;           // of things, as TransferPlan names them
  std::vector<std::int64_t> bytes_at_start_;  // by op: taken
  std::vector<std::int64_t> bytes_at_end_;    // by op: freed in any case
  std::vector<std::int32_t> num_users_;       // of things: left
  std::vector<Change> changes_;
  std::vector<Change> by_device_;
  std::vector<std::size_t> ends_;  // by device: where its changes end in `by_device_`
};

}  // namespace emplace

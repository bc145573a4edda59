#pragma once

// What traces of all formats show of a step: which row each op and transfer has, and where arrows
// go. Rows of one device must not overlap, so each kind has as many as it needs at once.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstddef>
#include <vector>

namespace emplace {

/// Lays out a step. Requires: both outlive this object.
class TraceLayout {
 public:
  TraceLayout(const Problem& problem, const StepRecord& record);

  /// Returns the row of an op or a transfer, among those of its kind on its device.
  int lane_of(OpId op) const { return op_lane_[op]; }
  int lane_of_transfer(std::size_t transfer) const { return transfer_lane_[transfer]; }

  /// Return all ops, and the indices of all transfers, by start; what takes no time comes before
  /// what starts at the same moment and lasts.
  const std::vector<OpId>& ops_by_start() const { return ops_by_start_; }
  const std::vector<std::size_t>& transfers_by_start() const { return transfers_by_start_; }

  /// Counts the rows of a device.
  int compute_lanes(DeviceId device) const { return compute_lanes_[device]; }
  int send_lanes(DeviceId device) const { return send_lanes_[device]; }

  DeviceId device_of(OpId op) const { return record_.placement[problem_.grouping().group_of(op)]; }

  /// Calls `use(consumer)` for each op that ran with what `transfer` brought.
  template <class Use>
  void for_each_consumer(const Transfer& transfer, Use use) const {
    for (auto [at, end] = problem_.uses_of(transfer.producer); at < end; ++at) {
      const Problem::Use& facts = problem_.uses()[at];
      const DeviceId device = device_of(facts.consumer);
      const bool is_there =
          transfer.to == Transfer::kToAll ? device != transfer.from : device == transfer.to;
      if (facts.output == transfer.output && is_there) {
        use(facts.consumer);
      }
    }
  }

 private:
  const Problem& problem_;
  const StepRecord& record_;
  std::vector<OpId> ops_by_start_;
  std::vector<std::size_t> transfers_by_start_;
  IdVector<OpId, int> op_lane_;
  std::vector<int> transfer_lane_;
  IdVector<DeviceId, int> compute_lanes_;
  IdVector<DeviceId, int> send_lanes_;
};

}  // namespace emplace

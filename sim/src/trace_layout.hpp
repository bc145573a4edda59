#pragma once

// The row of each op and transfer in a trace, and where arrows go. What is in a row must not
// overlap, so each device has as many rows of a kind as it needs at once.

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
  IdVector<OpId, int> op_lane_;
  std::vector<int> transfer_lane_;
  IdVector<DeviceId, int> compute_lanes_;
  IdVector<DeviceId, int> send_lanes_;
};

}  // namespace emplace

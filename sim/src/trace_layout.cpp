#include "trace_layout.hpp"

#include <emplace/sim/lanes.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace emplace {
namespace {

IdVector<DeviceId, int> counts_of(const IdVector<DeviceId, Lanes>& lanes) {
  IdVector<DeviceId, int> counts;
  for (const Lanes& device : lanes) {
    counts.push_back(device.count());
  }
  return counts;
}

}  // namespace

TraceLayout::TraceLayout(const Problem& problem, const StepRecord& record)
    : problem_(problem),
      record_(record),
      ops_by_start_(problem.num_ops()),
      transfers_by_start_(record.transfers.size()),
      op_lane_(problem.num_ops()),
      transfer_lane_(record.transfers.size()) {
  IdVector<DeviceId, Lanes> lanes(problem.num_devices());
  std::iota(ops_by_start_.begin(), ops_by_start_.end(), 0);
  std::ranges::stable_sort(ops_by_start_, {}, [&](OpId op) {
    return std::pair(record.start_us[op], record.end_us[op]);
  });
  for (const OpId op : ops_by_start_) {
    op_lane_[op] = lanes[device_of(op)].take(record.start_us[op], record.end_us[op]);
  }
  compute_lanes_ = counts_of(lanes);

  lanes = IdVector<DeviceId, Lanes>(problem.num_devices());
  std::iota(transfers_by_start_.begin(), transfers_by_start_.end(), std::size_t{0});
  std::ranges::stable_sort(transfers_by_start_, {}, [&](std::size_t at) {
    return std::pair(record.transfers[at].start_us, record.transfers[at].end_us);
  });
  for (const std::size_t at : transfers_by_start_) {
    const Transfer& transfer = record.transfers[at];
    transfer_lane_[at] = lanes[transfer.from].take(transfer.start_us, transfer.end_us);
  }
  send_lanes_ = counts_of(lanes);
}

}  // namespace emplace

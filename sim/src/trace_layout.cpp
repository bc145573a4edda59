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
      op_lane_(problem.num_ops()),
      transfer_lane_(record.transfers.size()) {
  // By start; what takes no time comes before what starts at the same moment and lasts.
  std::vector<OpId> ops(problem.num_ops());
  std::iota(ops.begin(), ops.end(), 0);
  std::ranges::stable_sort(
      ops, {}, [&](OpId op) { return std::pair(record.start_us[op], record.end_us[op]); });
  IdVector<DeviceId, Lanes> lanes(problem.num_devices());
  for (const OpId op : ops) {
    op_lane_[op] = lanes[device_of(op)].take(record.start_us[op], record.end_us[op]);
  }
  compute_lanes_ = counts_of(lanes);

  std::vector<std::size_t> transfers(record.transfers.size());
  std::iota(transfers.begin(), transfers.end(), std::size_t{0});
  std::ranges::stable_sort(transfers, {}, [&](std::size_t at) {
    return std::pair(record.transfers[at].start_us, record.transfers[at].end_us);
  });
  lanes = IdVector<DeviceId, Lanes>(problem.num_devices());
  for (const std::size_t at : transfers) {
    const Transfer& transfer = record.transfers[at];
    transfer_lane_[at] = lanes[transfer.from].take(transfer.start_us, transfer.end_us);
  }
  send_lanes_ = counts_of(lanes);
}

}  // namespace emplace

#include "transfer_table.hpp"

#include <algorithm>

namespace emplace::physical {

TransferTable::TransferTable(const Problem& problem)
    : problem_(problem), transfer_of_(problem.uses().size()) {
  transfers_.reserve(problem.uses().size());
}

// Sorts the transfers of one output by target, and counts the consumers of each.
void TransferTable::assign_consumers(TransferId first_transfer, UseId first_use, UseId last_use,
                                     IdSpan<OpId, const DeviceId> device_of) {
  std::sort(transfers_.begin() + first_transfer, transfers_.end(),
            [](const TransferState& a, const TransferState& b) { return a.to < b.to; });
  const DeviceId from = transfers_[first_transfer].from;
  for (UseId use = first_use; use < last_use; ++use) {
    const DeviceId to = device_of[problem_.uses()[use].consumer];
    if (to != from) {
      TransferId transfer = first_transfer;
      while (transfers_[transfer].to != to) {
        ++transfer;
      }
      transfer_of_[use] = transfer;
      ++transfers_[transfer].consumers;
    }
  }
}

}  // namespace emplace::physical

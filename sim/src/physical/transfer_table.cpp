#include "transfer_table.hpp"

#include <algorithm>

namespace emplace::physical {

TransferTable::TransferTable(const Problem& problem)
    : problem_(problem), transfers_(problem.uses().size()), transfer_of_(problem.uses().size()) {
  new_number_.reserve(index_of(problem.num_devices()));
}

// Sorts the transfers of one output by target.
void TransferTable::sort_by_target(TransferId first_transfer, UseId first_use, UseId last_use) {
  // A transfer keeps its old number in `end_us` while they are sorted.
  for (TransferId transfer = first_transfer; transfer < end_; ++transfer) {
    transfers_[transfer].end_us = transfer;
  }
  std::sort(transfers_.begin() + first_transfer, transfers_.begin() + end_,
            [](const TransferState& a, const TransferState& b) { return a.to < b.to; });
  new_number_.resize(static_cast<std::size_t>(end_ - first_transfer));
  for (TransferId transfer = first_transfer; transfer < end_; ++transfer) {
    const auto old = static_cast<std::int32_t>(transfers_[transfer].end_us);
    new_number_[static_cast<std::size_t>(old - first_transfer)] = transfer;
    transfers_[transfer].end_us = 0;
  }
  for (UseId use = first_use; use < last_use; ++use) {
    if (transfer_of_[use] != kNone) {
      transfer_of_[use] = new_number_[static_cast<std::size_t>(transfer_of_[use] - first_transfer)];
    }
  }
}

}  // namespace emplace::physical

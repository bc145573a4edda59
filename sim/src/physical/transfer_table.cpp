#include "transfer_table.hpp"

#include <algorithm>
#include <span>

namespace emplace::physical {

TransferTable::TransferTable(const Problem& problem)
    : problem_(problem), transfer_of_(problem.uses().size()) {
  transfers_.reserve(problem.uses().size());
}

void TransferTable::clear() {
  transfers_.clear();
  std::fill(transfer_of_.begin(), transfer_of_.end(), kNone);
}

std::int32_t TransferTable::add(UseId first_use, UseId last_use,
                                IdSpan<OpId, const DeviceId> device_of, double now_us) {
  const auto uses = problem_.uses();
  const DeviceId from = device_of[uses[first_use].producer];
  const TransferId first_transfer = transfers_.end_id();
  const auto added = [&] { return std::span(transfers_).subspan(first_transfer); };
  for (UseId use = first_use; use < last_use; ++use) {
    const DeviceId to = device_of[uses[use].consumer];
    if (to != from && std::ranges::none_of(added(), [to](const TransferState& transfer) {
          return transfer.to == to;
        })) {
      transfers_.push_back({.producer = uses[use].producer,
                            .output = uses[use].output,
                            .first_use = first_use,
                            .from = from,
                            .to = to,
                            .consumers = 0,
                            .start_us = now_us,
                            .end_us = kNotYet,
                            .freed_us = kNotYet});
    }
  }
  if (transfers_.end_id() == first_transfer) {
    return 0;
  }
  std::ranges::sort(added(), {}, &TransferState::to);
  for (UseId use = first_use; use < last_use; ++use) {
    const DeviceId to = device_of[uses[use].consumer];
    if (to != from) {
      TransferId transfer = first_transfer;
      while (transfers_[transfer].to != to) {
        ++transfer;
      }
      transfer_of_[use] = transfer;
      ++transfers_[transfer].consumers;
    }
  }
  return transfers_.end_id() - first_transfer;
}

}  // namespace emplace::physical

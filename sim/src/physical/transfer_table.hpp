#pragma once

// Which transfers a step makes, and who waits for which (rule 2 of the `physical` engine in
// docs/concepts/simulation.md): one for each output and each other device that reads it.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace emplace::physical {

/// Index of a transfer among those of a step, in the order in which they start.
using TransferId = Id<struct TransferTag>;

/// Holds one output on its way to one device.
struct TransferState {
  OpId producer;
  OutputId output;
  UseId first_use;  ///< of that output
  DeviceId from;
  DeviceId to;
  std::int32_t consumers;  ///< there, that have not ended yet
  double start_us;
  double end_us;
  double freed_us;  ///< when the copy is
};

/// Makes the transfers of a step; a workspace of one thread.
class TransferTable {
 public:
  static constexpr TransferId kNone = -1;

  /// Makes room. Requires: `problem` outlives it.
  explicit TransferTable(const Problem& problem);

  /// Forgets all transfers.
  void clear() { end_ = 0; }

  /// Hands on an output of `producer`, which ends at `now_us`, to its uses, and moves `use` from
  /// the first of them to the one after the last: calls `wake(consumer)` for each consumer on the
  /// op's device, and adds the transfers to other devices, in the order of these. Returns how many
  /// uses the output has on the op's device: local ones and transfers.
  template <class Wake>
  std::int32_t send(OutputId output, UseId& use, UseId last_use, OpId producer,
                    IdSpan<OpId, const DeviceId> device_of, double now_us, const Wake& wake);

  /// Returns the transfer by which a consumer gets what it uses; kNone if it is on the producer's
  /// device. Requires: the producer has ended.
  TransferId transfer_of(UseId use) const { return transfer_of_[use]; }

  TransferState& operator[](TransferId transfer) { return transfers_[transfer]; }

  /// Returns the transfers so far.
  IdSpan<TransferId, const TransferState> all() const {
    return {transfers_.data(), index_of(end_)};
  }

  /// Returns the end of a loop over all of them.
  TransferId end_id() const { return end_; }

 private:
  void sort_by_target(TransferId first_transfer, UseId first_use, UseId last_use);

  const Problem& problem_;
  IdVector<TransferId, TransferState> transfers_;  // with room for all uses
  TransferId end_ = 0;
  IdVector<UseId, TransferId> transfer_of_;
  std::vector<TransferId> new_number_;  // while transfers are sorted
};

template <class Wake>
std::int32_t TransferTable::send(OutputId output, UseId& use, UseId last_use, OpId producer,
                                 IdSpan<OpId, const DeviceId> device_of, double now_us,
                                 const Wake& wake) {
  const auto uses = problem_.uses();
  const DeviceId from = device_of[producer];
  const UseId first_use = use;
  const TransferId first_transfer = end_;
  std::int32_t num_local = 0;
  for (; use < last_use && uses[use].output == output; ++use) {
    const DeviceId to = device_of[uses[use].consumer];
    if (to == from) {
      ++num_local;
      transfer_of_[use] = kNone;
      wake(uses[use].consumer);
      continue;
    }
    TransferId transfer = first_transfer;
    while (transfer < end_ && transfers_[transfer].to != to) {
      ++transfer;
    }
    if (transfer == end_) {
      transfers_[end_++] = {.producer = producer,
                            .output = output,
                            .first_use = first_use,
                            .from = from,
                            .to = to,
                            .consumers = 0,
                            .start_us = now_us,
                            .end_us = 0,
                            .freed_us = 0};
    }
    ++transfers_[transfer].consumers;
    transfer_of_[use] = transfer;
  }
  const TransferId num_transfers = end_ - first_transfer;
  if (num_transfers > 1) {
    sort_by_target(first_transfer, first_use, use);
  }
  return num_local + num_transfers;
}

}  // namespace emplace::physical

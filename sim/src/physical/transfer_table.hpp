#pragma once

// Which transfers a step makes, and who waits for which (rule 2 of the `physical` engine in
// docs/concepts/simulation.md): one for each output and each other device that reads it.

#include <emplace/graphs/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <vector>

namespace emplace::physical {

/// Index of a transfer among those of a step, in the order in which they start.
using TransferId = std::int32_t;

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
  static constexpr double kNotYet = -1.0;

  /// Makes room. Requires: `problem` outlives it.
  explicit TransferTable(const Problem& problem);

  /// Forgets all transfers.
  void clear();

  /// Adds the transfers of the output with these uses, in the order of their targets, for an op
  /// that ends at `now_us`. Returns how many; none if all its consumers are on its device.
  std::int32_t add(UseId first_use, UseId last_use, IdSpan<OpId, const DeviceId> device_of,
                   double now_us);

  /// Returns the transfer by which a consumer gets what it uses; kNone if it is on the producer's
  /// device.
  TransferId transfer_of(UseId use) const { return transfer_of_[use]; }

  TransferState& operator[](TransferId transfer) { return transfers_[transfer]; }

  /// Returns the transfers so far.
  const IdVector<TransferId, TransferState>& all() const { return transfers_; }

 private:
  const Problem& problem_;
  IdVector<TransferId, TransferState> transfers_;
  IdVector<UseId, TransferId> transfer_of_;
};

}  // namespace emplace::physical

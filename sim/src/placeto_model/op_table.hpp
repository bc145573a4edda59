#pragma once

// The consumers and outputs of all ops, laid out for the event loop and the memory pass.
//
// Consumers come in blocks of two that are visited together, without a branch for each. Blocks are
// filled up with a sentinel: the op after the last, which is on no device and never becomes ready.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace::placeto_model {

struct StepTimes;

/// Holds what dispatching an op needs to know of it.
struct OpTable {
  static constexpr std::int32_t kBlock = 2;  ///< consumers that are visited together
  static constexpr int kRankBits = 31;       ///< an OpId is not negative

  /// One op, in half a line of the cache.
  struct alignas(32) Row {
    OpId consumers[kBlock];       ///< the first by name
    std::int32_t more_consumers;  ///< where the blocks of the others begin
    std::int32_t num_consumers;
    double transfer_us;         ///< of the only output
    OutputId only_output;       ///< StepTimes::only_output()
    std::uint32_t has_gap : 1;  ///< whether the device rests after the op
    std::uint32_t name_rank : kRankBits;
  };
  static_assert(sizeof(Row) == 32);

  OpTable(const Problem& problem, const StepTimes& times);

  /// Returns the op that fills up blocks.
  OpId sentinel() const { return rows.end_id(); }

  IdVector<OpId, Row> rows;
  std::vector<OpId> more_consumers;
  std::vector<OpId> roots;  ///< ops without producers
};

}  // namespace emplace::placeto_model

#pragma once

// A step as one sequence of dispatches: what each op reads, and what its dispatch leaves behind.
// Incremental runs go through it from front to back and put right what is out of order.

#include "step_times.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>

namespace emplace::placeto_model {

/// Holds the sequence of one step. Inputs come in blocks that are visited together; blocks are
/// filled up with inputs that are known at time 0.
struct DispatchSequence {
  static constexpr std::int32_t kBlock = 2;  ///< inputs that are visited together

  /// What dispatching an op needs to know of it, in half a line of the cache.
  struct alignas(32) Row {
    std::int32_t sources;      ///< where they begin
    std::int32_t sources_end;  ///< where they end, without what fills up the last block
    OutputId only_output;      ///< StepTimes::only_output()
    DeviceId device;
    double transfer_us;  ///< of the only output
    double gap_us;       ///< for which the device rests after the op
  };
  static_assert(sizeof(Row) == 32);

  /// What the dispatch of an op leaves behind.
  struct Record {
    double ready_us = 0;
    double start_us = 0;
    double channel_free_us = 0;
    OpId op = 0;
    OpId previous = 0;  ///< on the device; of the first one, an id behind those of all ops
  };

  /// What a consumer reads: an op's output.
  struct Input {
    OpId producer;
    OutputId output;
  };

  /// Lays out what all ops read; the ops stand in no sequence yet.
  DispatchSequence(const Problem& problem, const StepTimes& times);

  DispatchSequence(const DispatchSequence&) = delete;
  DispatchSequence& operator=(const DispatchSequence&) = delete;

  /// Says whether an op reads nothing.
  bool is_root(OpId op) const { return rows[op].sources == rows[op].sources_end; }

  /// Returns what the dispatch of an op left behind.
  const Record& record_of(OpId op) const { return records[place[op]]; }

  IdVector<OpId, Row> rows;
  IdVector<std::int32_t, Input> inputs;          ///< of all ops
  IdVector<std::int32_t, std::int32_t> sources;  ///< of each input: its index in `known_us`
  IdVector<std::int32_t, Record> records;        ///< in the order of the dispatches
  IdVector<OpId, std::int32_t> place;            ///< of each op in `records`
};

}  // namespace emplace::placeto_model

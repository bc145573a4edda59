#include "placeto_engine.hpp"

#include <algorithm>

namespace emplace::placeto_model {
namespace {

// An incremental run pays while at most so many groups move, and no more than one in so many.
constexpr std::size_t kMostMoved = 24;
constexpr std::size_t kOneMovedIn = 4;
constexpr std::int32_t kLongestPause = 63;  // in moves

}  // namespace

PlacetoEngine::PlacetoEngine(const Problem& problem, const CostTable& costs)
    : problem_(problem),
      costs_(costs),
      loads_(problem.num_devices()),
      base_loads_(problem.num_devices()),
      times_(problem),
      table_(problem, times_),
      loop_(problem, costs, table_, times_),
      memory_(problem, table_) {
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    num_ops_in_.push_back(problem.grouping().members(group).size());
  }
  base_order_.reserve(num_ops_in_.size());
  result_.peak_bytes = memory_.peak_bytes();
}

const SimResult& PlacetoEngine::run(const Placement& placement, double cutoff_us) {
  was_incremental_ = false;
  run_in_full(placement, cutoff_us);
  if (!result_.is_cut_off) {
    compare_with_capacity(problem_, result_);
  }
  return result_;
}

void PlacetoEngine::run_in_full(const Placement& placement, double cutoff_us) {
  std::fill(loads_.begin(), loads_.end(), PlacedOps{});
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    put(group, placement[group]);
  }
  loop_.run(placement, loads_);
  if (!cut_off(result_, loop_.makespan_us(), cutoff_us)) {
    memory_.after_full_run(times_, loads_, loop_);
    result_.start_us = times_.start_us;
    result_.end_us = times_.end_us;
  }
}

const SimResult& PlacetoEngine::start(const Placement& base) {
  has_priorities_ = base.has_priorities() || !problem_.priorities().empty();
  base_ = Base::kLastRun;
  run(base, kNoCutoff);
  std::copy(loads_.begin(), loads_.end(), base_loads_.begin());
  return result_;
}

const SimResult& PlacetoEngine::try_moves(const Placement& base, const Placement& moved,
                                          std::span<const Move> moves, double cutoff_us) {
  was_incremental_ = try_incrementally(base, moved, moves, cutoff_us);
  if (!was_incremental_) {
    if (base_ == Base::kLastRun) {
      base_order_ = times_.dispatch_order;
      base_ = Base::kOrder;
    }
    run_in_full(moved, cutoff_us);
  }
  if (!result_.is_cut_off) {
    compare_with_capacity(problem_, result_);
  }
  return result_;
}

void PlacetoEngine::accept() {
  if (was_incremental_) {
    incremental_->make_base();
  } else {
    base_ = Base::kLastRun;
  }
  std::copy(loads_.begin(), loads_.end(), base_loads_.begin());
}

// Returns false where a full run must follow. Incremental runs that give up cost time for nothing;
// so none is tried for a while, the longer the more gave up lately.
bool PlacetoEngine::try_incrementally(const Placement& base, const Placement& moved,
                                      std::span<const Move> moves, double cutoff_us) {
  const std::size_t most = std::clamp<std::size_t>(num_ops_in_.size() / kOneMovedIn, 1, kMostMoved);
  if (has_priorities_ || base_ == Base::kNothing || moves.size() > most) {
    return false;
  }
  if (pause_left_ > 0) {
    --pause_left_;
    return false;
  }
  if (!prepare(base) || !incremental_->run(moves)) {
    pause_ = std::min(2 * pause_ + 1, kLongestPause);
    pause_left_ = pause_;
    return false;
  }
  pause_ /= 2;
  std::copy(base_loads_.begin(), base_loads_.end(), loads_.begin());
  for (const Move& move : moves) {
    take_off(move.group, base[move.group]);
    put(move.group, move.device);
  }
  if (!cut_off(result_, incremental_->makespan_us(), cutoff_us)) {
    const StepTimes& times = incremental_->times();
    memory_.after_incremental_run(moved, times, loads_);
    result_.start_us = times.start_us;
    result_.end_us = times.end_us;
  }
  return true;
}

// Makes the base that of incremental runs; returns false if it cannot be.
bool PlacetoEngine::prepare(const Placement& base) {
  if (base_ == Base::kIncremental) {
    return true;
  }
  if (!incremental_) {
    incremental_ = std::make_unique<IncrementalRun>(problem_, costs_);
  }
  if (!incremental_->start_from(base,
                                base_ == Base::kLastRun ? times_.dispatch_order : base_order_)) {
    base_ = Base::kNothing;
    return false;
  }
  base_ = Base::kIncremental;
  return true;
}

void PlacetoEngine::put(GroupId group, DeviceId device) {
  loads_[device].num_ops += num_ops_in_[group];
  loads_[device].persistent_bytes += problem_.group_persistent_bytes(group);
}

void PlacetoEngine::take_off(GroupId group, DeviceId device) {
  loads_[device].num_ops -= num_ops_in_[group];
  loads_[device].persistent_bytes -= problem_.group_persistent_bytes(group);
}

// One transfer serves all devices that want an output, and the outputs of an op are freed together.
StepRecord PlacetoEngine::describe(const Placement& placement) {
  StepRecord record = record_of(placement, result_);
  if (!was_incremental_) {
    times_.send_all(problem_, placement);
  }
  const StepTimes& times = was_incremental_ ? incremental_->times() : times_;
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const DeviceId device = placement[problem_.grouping().group_of(op)];
    record.allocations.push_back({.op = op,
                                  .output = Allocation::kAllOutputs,
                                  .kind = Allocation::Kind::kOutput,
                                  .device = device,
                                  .from_us = times.start_us[op],
                                  .until_us = memory_.freed_us()[op],
                                  .bytes = problem_.allocated_bytes(op)});
    const auto [begin, end] = problem_.outputs(op);
    for (OutputId output = begin; output < end; ++output) {
      if (times.transfer_start_us[output] >= 0) {
        record.transfers.push_back({.producer = op,
                                    .output = output,
                                    .from = device,
                                    .to = Transfer::kToAll,
                                    .wanted_us = times.end_us[op],
                                    .start_us = times.transfer_start_us[output],
                                    .end_us = times.transfer_end_us[output]});
      }
    }
  }
  return record;
}

}  // namespace emplace::placeto_model

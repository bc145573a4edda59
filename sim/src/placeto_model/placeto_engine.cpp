#include "placeto_engine.hpp"

#include <algorithm>

namespace emplace::placeto_model {

PlacetoEngine::PlacetoEngine(const Problem& problem)
    : problem_(problem),
      loads_(problem.num_devices()),
      base_loads_(problem.num_devices()),
      times_(problem),
      table_(problem, times_),
      loop_(problem, table_, times_),
      memory_(problem, table_),
      moved_(problem.num_groups()) {
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    num_ops_in_.push_back(problem.grouping().members(group).size());
  }
  result_.peak_bytes = memory_.peak_bytes();
}

const SimResult& PlacetoEngine::run(const Placement& placement, double cutoff_us) {
  was_incremental_ = !placement.has_priorities() && run_incrementally(placement, cutoff_us);
  if (!was_incremental_) {
    run_in_full(placement, cutoff_us);
  }
  if (!result_.is_cut_off) {
    compare_with_capacity(problem_, result_);
  }
  return result_;
}

void PlacetoEngine::run_in_full(const Placement& placement, double cutoff_us) {
  std::fill(loads_.begin(), loads_.end(), DeviceLoad{});
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    put(group, placement[group]);
  }
  loop_.run(placement, loads_);
  if (placement.has_priorities()) {
    moved_.forget();  // incremental runs know one order only, that of the times
  } else {
    moved_.note_full_run(placement);
  }
  if (!cut_off(result_, loop_.makespan_us(), cutoff_us)) {
    memory_.after_full_run(times_, loads_, loop_);
    result_.start_us = times_.start_us;
    result_.end_us = times_.end_us;
  }
}

// Returns false where a full run must follow.
bool PlacetoEngine::run_incrementally(const Placement& placement, double cutoff_us) {
  const MovedGroups::From from = moved_.find(placement);
  if (from == MovedGroups::From::kNothing) {
    return false;
  }
  if (!prepare_base(from)) {
    moved_.forget();
    moved_.note_failure();
    return false;
  }
  if (!incremental_->run(placement, moved_.groups())) {
    moved_.note_failure();
    return false;
  }
  std::copy(base_loads_.begin(), base_loads_.end(), loads_.begin());
  for (const GroupId group : moved_.groups()) {
    take_off(group, moved_.base()[group]);
    put(group, placement[group]);
  }
  moved_.note_incremental_run(placement);
  if (!cut_off(result_, incremental_->makespan_us(), cutoff_us)) {
    const StepTimes& times = incremental_->times();
    memory_.after_incremental_run(placement, times, loads_);
    result_.start_us = times.start_us;
    result_.end_us = times.end_us;
  }
  return true;
}

// Returns false if there is no base for incremental runs.
bool PlacetoEngine::prepare_base(MovedGroups::From from) {
  bool has_base = true;
  if (from == MovedGroups::From::kLastRun) {
    if (!incremental_) {
      incremental_ = std::make_unique<IncrementalRun>(problem_);
    }
    if (moved_.last_full_run() != nullptr) {
      has_base = incremental_->start_from(*moved_.last_full_run(), times_.dispatch_order);
      base_revision_ = problem_.cost_revision();
    } else {
      incremental_->make_base();
    }
    moved_.make_base();
    std::copy(loads_.begin(), loads_.end(), base_loads_.begin());
  }
  if (base_revision_ != problem_.cost_revision()) {
    base_revision_ = problem_.cost_revision();
    has_base = incremental_->refresh();
  }
  return has_base;
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
StepRecord PlacetoEngine::record(const Placement& placement) {
  StepRecord record = record_of(placement, run(placement, kNoCutoff));
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

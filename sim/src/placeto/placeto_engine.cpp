#include "placeto_engine.hpp"

#include <algorithm>

namespace emplace::placeto {

PlacetoEngine::PlacetoEngine(const Problem& problem)
    : problem_(problem),
      num_ops_on_(problem.num_devices()),
      times_(problem),
      table_(problem, times_),
      loop_(problem, table_, times_),
      incremental_(problem, times_),
      memory_(problem, table_, times_),
      moved_(problem.num_groups()) {
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    num_ops_in_.push_back(problem.grouping().members(group).size());
  }
  result_.start_us = times_.start_us;
  result_.end_us = times_.end_us;
  result_.peak_bytes = memory_.peak_bytes();
}

const SimResult& PlacetoEngine::run(const Placement& placement, double cutoff_us) {
  if (last_run_ == LastRun::kNone || !moved_.find(placement) ||
      !run_incrementally(placement, cutoff_us)) {
    run_in_full(placement, cutoff_us);
  }
  moved_.note_run(placement);
  if (!result_.is_cut_off) {
    compare_with_capacity(problem_, result_);
  }
  return result_;
}

void PlacetoEngine::run_in_full(const Placement& placement, double cutoff_us) {
  std::fill(num_ops_on_.begin(), num_ops_on_.end(), 0);
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    num_ops_on_[placement[group]] += num_ops_in_[group];
  }
  loop_.run(placement, num_ops_on_);
  if (!cut_off(result_, loop_.makespan_us(), cutoff_us)) {
    memory_.after_full_run(placement, loop_);
  }
  last_run_ = LastRun::kFull;
}

// Returns false where a full run must follow.
bool PlacetoEngine::run_incrementally(const Placement& placement, double cutoff_us) {
  if (last_run_ == LastRun::kFull) {
    incremental_.start_from(moved_.last());
  }
  for (const GroupId group : moved_.groups()) {
    incremental_.move(group, placement[group]);
    num_ops_on_[moved_.last()[group]] -= num_ops_in_[group];
    num_ops_on_[placement[group]] += num_ops_in_[group];
  }
  const bool has_succeeded = incremental_.run();
  moved_.note_incremental_run(has_succeeded);
  if (has_succeeded) {
    if (!cut_off(result_, incremental_.makespan_us(), cutoff_us)) {
      memory_.after_incremental_run(placement, num_ops_on_);
    }
    last_run_ = LastRun::kIncremental;
  }
  return has_succeeded;
}

// One transfer serves all devices that want an output, and the outputs of an op are freed together.
StepRecord PlacetoEngine::record(const Placement& placement) {
  StepRecord record = record_of(placement, run(placement, kNoCutoff));
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const DeviceId device = placement[problem_.grouping().group_of(op)];
    record.allocations.push_back({.op = op,
                                  .output = Allocation::kAllOutputs,
                                  .kind = Allocation::Kind::kOutput,
                                  .device = device,
                                  .from_us = times_.start_us[op],
                                  .until_us = memory_.freed_us()[op],
                                  .bytes = problem_.allocated_bytes(op)});
    const auto [begin, end] = problem_.outputs(op);
    for (OutputId output = begin; output < end; ++output) {
      if (times_.transfer_start_us[output] >= 0) {
        record.transfers.push_back({.producer = op,
                                    .output = output,
                                    .from = device,
                                    .to = Transfer::kToAll,
                                    .wanted_us = times_.end_us[op],
                                    .start_us = times_.transfer_start_us[output],
                                    .end_us = times_.transfer_end_us[output]});
      }
    }
  }
  return record;
}

}  // namespace emplace::placeto

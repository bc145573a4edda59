#include "physical_engine.hpp"

#include <algorithm>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

PhysicalEngine::PhysicalEngine(const Problem& problem, bool stop_when_out_of_memory)
    : problem_(problem),
      stop_when_out_of_memory_(stop_when_out_of_memory),
      by_priority_(problem.cluster().transfer_model == TransferModel::kPhysical &&
                   problem.cluster().queue_order == QueueOrder::kCriticalPath),
      bytes_of_overhead_(problem.cluster().transfer_model == TransferModel::kGrappler
                             ? problem.cluster().grappler.latency_us *
                                   problem.cluster().grappler.bytes_per_us
                             : 0.0),
      min_bytes_(problem.cluster().transfer_model == TransferModel::kGrappler ? 0.0 : 1.0),
      num_ops_(problem.num_ops()),
      moved_(problem.num_groups()),
      network_(problem.topology(), problem.num_devices(),
               static_cast<std::int32_t>(problem.uses().size())) {
  const std::size_t num_ops = index(num_ops_);
  const std::size_t num_outputs = index(problem_.num_outputs());
  const std::size_t num_devices = index(problem_.num_devices());
  start_us_.resize(num_ops);
  end_us_.resize(num_ops);
  output_freed_us_.resize(num_outputs);
  peak_bytes_.resize(num_devices);
  for (DeviceId from = 0; from < problem_.num_devices(); ++from) {
    for (DeviceId to = 0; to < problem_.num_devices(); ++to) {
      latency_us_.push_back(problem_.topology().latency_us(from, to));
    }
  }
  for (OpId op = 0; op < num_ops_; ++op) {
    workspace_bytes_.push_back(problem_.graph()[index(op)].workspace_bytes);
    num_inputs_.push_back(static_cast<std::int32_t>(problem_.inputs(op).size()));
    if (num_inputs_.back() == 0) {
      roots_.push_back(op);
    }
  }
  group_ops_.resize(index(problem_.num_groups()));
  for (OpId op = 0; op < num_ops_; ++op) {
    group_ops_[index(problem_.grouping().group_of(op))] += 1;
  }
  device_.resize(num_ops);
  waiting_.resize(num_ops);
  output_uses_.resize(num_outputs);
  transfer_of_.resize(problem_.uses().size());
  stations_.resize(num_devices);
  ready_storage_.resize(num_ops);

  const std::size_t max_transfers = problem_.uses().size();
  transfers_.reserve(max_transfers);
  events_.reserve(num_ops + max_transfers);
  ended_ops_.reserve(num_ops);
  arrived_.reserve(max_transfers);
  ended_flows_.reserve(max_transfers);
  woken_.reserve(num_ops);
  idle_.reserve(2 * num_ops);
  grown_.reserve(num_devices);
  if (PhysicalReplay::is_possible(problem_)) {
    replay_ = std::make_unique<PhysicalReplay>(problem_, network_);
  }
}

void PhysicalEngine::run(const Placement& placement) {
  if (cost_revision_ != problem_.cost_revision()) {
    cost_revision_ = problem_.cost_revision();
    forget();
  }
  if (replay_ && base_ != Base::kNone && moved_.find(placement)) {
    was_replay_ = replay(placement);
  } else {
    was_replay_ = false;
    base_ = Base::kNone;
  }
  if (!was_replay_) {
    simulate(placement);
  }
  moved_.note_run(placement);
}

// Runs the placement from what the last run left. Returns false if a full run must follow.
bool PhysicalEngine::replay(const Placement& placement) {
  if (base_ == Base::kFull) {
    replay_->adopt(moved_.last(), start_us_, end_us_);
  }
  for (const GroupId group : moved_.groups()) {
    replay_->move(group, placement[group]);
  }
  const bool has_succeeded = replay_->run();
  moved_.note_replay(has_succeeded);
  if (!has_succeeded) {
    base_ = Base::kNone;
    return false;
  }
  base_ = Base::kReplay;
  makespan_us_ = replay_->makespan_us();
  if (stop_when_out_of_memory_) {
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      if (replay_->peak_bytes()[index(device)] > problem_.memory_bytes(device)) {
        return false;
      }
    }
  }
  return true;
}

void PhysicalEngine::reset(const Placement& placement) {
  const Grouping& grouping = problem_.grouping();
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    stations_[index(device)] = {.free_slots = problem_.slots(device)};
  }
  std::vector<std::int64_t>& num_ops = peak_bytes_;  // of each device, for a moment
  std::fill(num_ops.begin(), num_ops.end(), 0);
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    num_ops[index(placement[group])] += static_cast<std::int64_t>(group_ops_[index(group)]);
    stations_[index(placement[group])].live_bytes += problem_.group_persistent_bytes(group);
  }
  Entry* ready = ready_storage_.data();
  is_out_of_memory_ = false;
  grown_.clear();
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    Station& station = stations_[index(device)];
    station.begin = station.head = station.tail = ready;
    ready += num_ops[index(device)];
    peak_bytes_[index(device)] = 0;
    allocate(device, 0);
  }
  for (OpId op = 0; op < num_ops_; ++op) {
    device_[index(op)] = placement[grouping.group_of(op)];
  }
  std::copy(num_inputs_.begin(), num_inputs_.end(), waiting_.begin());
  for (std::vector<double>* times : {&start_us_, &end_us_, &output_freed_us_}) {
    std::fill(times->begin(), times->end(), kNotYet);
  }
  network_.reset();
  events_.clear();
  transfers_.clear();
  num_sent_ = 0;
  now_us_ = 0;
  makespan_us_ = 0;
}

void PhysicalEngine::allocate(DeviceId device, std::int64_t bytes) {
  Station& station = stations_[index(device)];
  station.live_bytes += bytes;
  if (!station.has_grown) {
    station.has_grown = true;
    grown_.push_back(device);
  }
}

// Counts what is taken when an instant is over: its frees come before its allocations, and what is
// taken and freed at once takes nothing (rule 4).
void PhysicalEngine::count_memory() {
  for (const DeviceId device : grown_) {
    Station& station = stations_[index(device)];
    station.has_grown = false;
    if (station.live_bytes > peak_bytes_[index(device)]) {
      peak_bytes_[index(device)] = station.live_bytes;
      is_out_of_memory_ |= station.live_bytes > problem_.memory_bytes(device);
    }
  }
  grown_.clear();
}

void PhysicalEngine::add_details(StepRecord& record) const {
  for (const TransferState& transfer : transfers_) {
    record.transfers.push_back({.producer = transfer.producer,
                                .output = transfer.output,
                                .from = transfer.from,
                                .to = transfer.to,
                                .wanted_us = transfer.start_us,
                                .start_us = transfer.start_us,
                                .end_us = transfer.end_us});
    record.allocations.push_back({.op = transfer.producer,
                                  .output = transfer.output,
                                  .kind = Allocation::Kind::kCopy,
                                  .device = transfer.to,
                                  .from_us = transfer.start_us,
                                  .until_us = transfer.freed_us,
                                  .bytes = problem_.output_bytes(transfer.output)});
  }
  for (OpId op = 0; op < num_ops_; ++op) {
    const DeviceId device = record.placement[problem_.grouping().group_of(op)];
    const auto [begin, end] = problem_.outputs(op);
    for (std::int32_t output = begin; output < end; ++output) {
      record.allocations.push_back({.op = op,
                                    .output = output,
                                    .kind = Allocation::Kind::kOutput,
                                    .device = device,
                                    .from_us = start_us_[index(op)],
                                    .until_us = output_freed_us_[index(output)],
                                    .bytes = problem_.output_allocated_bytes(output)});
    }
    record.allocations.push_back({.op = op,
                                  .output = kNone,
                                  .kind = Allocation::Kind::kWorkspace,
                                  .device = device,
                                  .from_us = start_us_[index(op)],
                                  .until_us = end_us_[index(op)],
                                  .bytes = workspace_bytes_[index(op)]});
  }
}

}  // namespace emplace

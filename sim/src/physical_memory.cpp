#include "physical_memory.hpp"

#include <algorithm>
#include <limits>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

PhysicalMemory::PhysicalMemory(const Problem& problem, const TransferPlan& plan)
    : problem_(problem), plan_(plan) {
  const auto uses = problem.uses();
  std::vector<bool> is_used(index(problem.num_outputs()));
  for (const Problem::Use& use : uses) {
    if (use.output != Dependency::kControl) {
      is_used[index(use.output)] = true;
    }
  }
  for (std::int32_t output = 0; output < problem.num_outputs(); ++output) {
    bytes_.push_back(problem.output_allocated_bytes(output));
  }
  for (const Problem::Use& use : uses) {
    bytes_.push_back(use.output == Dependency::kControl ? 0 : problem.output_bytes(use.output));
  }
  bytes_.push_back(0);
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const std::int64_t workspace_bytes = problem.graph()[index(op)].workspace_bytes;
    bytes_at_start_.push_back(problem.allocated_bytes(op) + workspace_bytes);
    bytes_at_end_.push_back(workspace_bytes);
    const auto [begin, end] = problem.outputs(op);
    for (std::int32_t output = begin; output < end; ++output) {
      bytes_at_end_.back() += is_used[index(output)] ? 0 : bytes_[index(output)];
    }
  }
  num_users_.resize(plan.num_users().size());
  changes_.reserve(2 * uses.size());
  by_device_.resize(2 * uses.size());
  ends_.resize(index(problem.num_devices()) + 1);
}

void PhysicalMemory::note(const Change& change) {
  std::size_t at = changes_.size();
  changes_.push_back(change);
  for (; at > 0 && changes_[at - 1].at_us > change.at_us; --at) {
    std::swap(changes_[at], changes_[at - 1]);
  }
}

void PhysicalMemory::sort_by_device() {
  std::ranges::copy(plan_.num_users(), num_users_.begin());
  std::fill(ends_.begin(), ends_.end(), 0);
  for (const Change& change : changes_) {
    ++ends_[index(device_of(change)) + 1];
  }
  for (std::size_t device = 1; device < ends_.size(); ++device) {
    ends_[device] += ends_[device - 1];
  }
  for (const Change& change : changes_) {  // now each entry is where the next change goes
    by_device_[ends_[index(device_of(change))]++] = change;
  }
}

// Lets one user go of a thing; returns how many bytes that frees.
inline std::int64_t PhysicalMemory::let_go(std::int32_t thing) {
  return bytes_[index(thing)] & -std::int64_t{--num_users_[index(thing)] == 0};
}

std::int64_t PhysicalMemory::peak(DeviceId device, std::span<const OpId> ops,
                                  std::span<const double> start_us,
                                  std::span<const double> end_us) {
  std::int64_t live = plan_.persistent_bytes(device);
  std::int64_t peak = live;
  double last_us = 0;
  const auto look = [&](double at_us) {
    peak = at_us > last_us ? std::max(peak, live) : peak;
    last_us = at_us;
  };
  const Change* change = by_device_.data() + (device == 0 ? 0 : ends_[index(device) - 1]);
  const Change* const end = by_device_.data() + ends_[index(device)];
  const auto catch_up = [&](double until_us) {
    for (; change != end && change->at_us <= until_us; ++change) {
      look(change->at_us);
      live += change->is_start ? bytes_[index(plan_.copy(change->transfer))]
                               : -let_go(problem_.uses()[index(change->transfer)].output);
    }
  };
  const std::int32_t* const held = plan_.held();
  for (const OpId op : ops) {
    catch_up(start_us[index(op)]);
    look(start_us[index(op)]);
    live += bytes_at_start_[index(op)];
    catch_up(end_us[index(op)]);
    look(end_us[index(op)]);
    const TransferPlan::OpPlan& plan = plan_.op(op);
    std::int64_t freed = bytes_at_end_[index(op)];
    for (std::int32_t source = plan.first_source; source < plan.last_source; ++source) {
      freed += let_go(held[source]);
    }
    live -= freed;
  }
  catch_up(std::numeric_limits<double>::infinity());
  return std::max(peak, live);
}

}  // namespace emplace

#include "joins.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

namespace emplace {
namespace {

// About a second to simulate.
constexpr std::int64_t kMaxOpsSimulated = 10'000'000;

std::vector<DeviceId> distinct_devices(const Placement& placement, std::span<const OpId> ops) {
  std::set<DeviceId> devices;
  for (const OpId op : ops) {
    devices.insert(placement[op]);
  }
  return {devices.begin(), devices.end()};
}

}  // namespace

Joins::Joins(const Problem& problem, Placement placement)
    : problem_(problem), simulator_(problem), first_(placement), placement_(std::move(placement)) {
  EMPLACE_CHECK(problem.num_groups() == problem.num_ops(), "{} groups of {} ops",
                problem.num_groups(), problem.num_ops());
}

std::vector<DeviceId> Joins::devices_of(std::span<const OpId> ops) const {
  return distinct_devices(placement_, ops);
}

std::vector<DeviceId> Joins::first_devices_of(std::span<const OpId> ops) const {
  return distinct_devices(first_, ops);
}

Joins::Cost Joins::cost_of(const Placement& placement) {
  const SimResult& step = simulator_.run(placement);
  ++simulations_;
  return {step.bytes_over, step.makespan_us};
}

Joins::Cost Joins::cost() { return cost_of(placement_); }

bool Joins::has_tried_enough() const {
  return simulations_ * problem_.num_ops() > kMaxOpsSimulated;
}

std::vector<DeviceId> Joins::candidates() const {
  const auto placeable = problem_.placeable_devices();
  std::set<DeviceId> devices(placeable.begin(), placeable.end());
  devices.insert(placement_.devices().begin(), placement_.devices().end());
  return {devices.begin(), devices.end()};
}

void Joins::make_best(const std::vector<Moves>& choices) {
  Placement best;
  Cost best_cost;
  for (const Moves& moves : choices) {
    Placement next = placement_;
    for (const auto& [op, device] : moves) {
      next[op] = device;
    }
    const Cost next_cost = cost_of(next);
    if (best.size() == 0 || next_cost < best_cost) {
      best = std::move(next);
      best_cost = next_cost;
    }
  }
  EMPLACE_CHECK(best.size() > 0, "there is no choice");
  placement_ = std::move(best);
}

void Joins::join(std::span<const OpId> ops) {
  std::vector<Moves> choices;
  for (const DeviceId device : devices_of(ops)) {
    Moves& moves = choices.emplace_back();
    for (const OpId op : ops) {
      moves.emplace_back(op, device);
    }
  }
  if (choices.size() > 1) {
    make_best(choices);
  }
}

std::optional<JoinedOps> Joins::change_of(std::string what, std::span<const OpId> ops) const {
  JoinedOps joined{.what = std::move(what), .devices = first_devices_of(ops)};
  const std::vector<DeviceId> now = devices_of(ops);
  if (joined.devices == now || now.empty()) {
    return std::nullopt;
  }
  joined.device = now.front();
  return joined;
}

}  // namespace emplace

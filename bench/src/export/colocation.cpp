#include "colocation.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <set>

namespace emplace::bench {
namespace {

std::vector<DeviceId> distinct_devices(const Grouping& grouping, const Placement& placement,
                                       std::span<const OpId> ops) {
  std::set<DeviceId> devices;
  for (const OpId op : ops) {
    devices.insert(placement[grouping.group_of(op)]);
  }
  return {devices.begin(), devices.end()};
}

}  // namespace

Colocation::Colocation(const Problem& problem, Placement placement)
    : problem_(problem), simulator_(problem), first_(placement), placement_(std::move(placement)) {
  EMPLACE_CHECK(problem.num_groups() == std::int32_t{problem.num_ops()}, "{} groups of {} ops",
                problem.num_groups(), problem.num_ops());
}

std::vector<DeviceId> Colocation::devices_of(std::span<const OpId> ops) const {
  return distinct_devices(problem_.grouping(), placement_, ops);
}

Colocation::Cost Colocation::cost_of(const Placement& placement) {
  Placement kept = placement;
  problem_.constrain(kept);
  std::int64_t broken = 0;
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    broken += kept[group] == placement[group] ? 0 : 1;
  }
  const SimResult& step = simulator_.run(placement);
  return {broken, step.bytes_over, step.makespan_us};
}

void Colocation::make_best(std::span<const Move> moves) {
  Placement best;
  Cost least;
  for (const auto& [ops, device] : moves) {
    Placement next = placement_;
    for (const OpId op : ops) {
      next[problem_.grouping().group_of(op)] = device;
    }
    if (const Cost cost = cost_of(next); best.size() == 0 || cost < least) {
      best = std::move(next);
      least = cost;
    }
  }
  EMPLACE_CHECK(best.size() > 0, "there is no move");
  placement_ = std::move(best);
}

void Colocation::colocate(std::span<const OpId> ops) {
  std::vector<Move> moves;
  for (const DeviceId device : devices_of(ops)) {
    moves.emplace_back(std::vector<OpId>(ops.begin(), ops.end()), device);
  }
  if (moves.size() > 1) {
    make_best(moves);
  }
}

void Colocation::try_one_device() {
  Cost least = cost_of(placement_);
  if (least <= cost_of(first_)) {
    return;
  }
  for (const DeviceId device : problem_.placeable_devices()) {
    Placement on_one = first_;
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      on_one[group] = device;
    }
    if (const Cost cost = cost_of(on_one); cost < least) {
      least = cost;
      placement_ = std::move(on_one);
    }
  }
}

std::optional<ColocatedOps> Colocation::change_of(std::string what,
                                                  std::span<const OpId> ops) const {
  ColocatedOps colocated{.what = std::move(what),
                         .devices = distinct_devices(problem_.grouping(), first_, ops)};
  const std::vector<DeviceId> now = devices_of(ops);
  if (colocated.devices == now || now.empty()) {
    return std::nullopt;
  }
  colocated.device = now.front();
  return colocated;
}

}  // namespace emplace::bench

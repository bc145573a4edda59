#include "move_proposals.hpp"

#include <emplace/sim/coarsening.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

namespace emplace::agents {
namespace {

constexpr double kNeighboursDevice = 0.7;  // probability that the device is that of a neighbour
constexpr int kTries = 4;                  // groups that are drawn to find one to swap with

constexpr DeviceId kStays = -1;

}  // namespace

MoveProposals::MoveProposals(const Problem& problem, Options options)
    : problem_(problem),
      options_(options),
      period_of_(problem.num_groups(), 0),
      own_share_(problem.num_groups(), 0.0),
      busy_(problem.num_devices()),
      target_(problem.num_groups(), kStays) {
  std::map<std::string, std::int32_t> layers;
  double time_us = 0;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    first_neighbour_.push_back(neighbours_.size());
    for (const GroupEdge& edge : problem.group_in_edges(group)) {
      neighbours_.push_back({edge.producer, edge.bytes, false});
    }
    for (const GroupEdge& edge : problem.group_out_edges(group)) {
      neighbours_.push_back({edge.consumer, edge.bytes, true});
    }
    // The layer of a group is that of its first op.
    const std::string& scope = problem.op(problem.grouping().members(group).front()).scope;
    const auto [layer, is_new] =
        layers.try_emplace(scope, static_cast<std::int32_t>(layers_.members.size()));
    if (is_new) {
      layers_.members.emplace_back();
    }
    layers_.part_of.push_back(layer->second);
    layers_.members[static_cast<std::size_t>(layer->second)].push_back(group);
    for (const DeviceId device : problem.placeable_devices()) {
      time_us += problem.group_cost_us(group, device);
    }
  }
  first_neighbour_.push_back(neighbours_.size());
  mean_time_us_ = time_us / static_cast<double>(problem.num_groups()) /
                  static_cast<double>(problem.placeable_devices().size());

  const Coarsening& coarsening = problem.coarsening();
  for (const GroupId size : coarsening.levels().subspan(1)) {
    const GroupNesting nesting(problem.grouping(), coarsening.grouping(size));
    Parts& level = levels_.emplace_back();
    level.members.resize(static_cast<std::size_t>(nesting.num_coarse()));
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      const GroupId part = nesting.coarse_of(group);
      level.part_of.push_back(part);
      level.members[static_cast<std::size_t>(part)].push_back(group);
    }
  }
}

void MoveProposals::observe(const Placement& placement, const StepOutline& step,
                            double step_time_us) {
  const double period_us = step_time_us / kPeriods;
  for (std::vector<double>& busy : busy_) {
    busy.assign(kPeriods, 0.0);
  }
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    const double period = step.group_start_us[group] / period_us;
    const std::int32_t first = period < kPeriods ? static_cast<std::int32_t>(period) : kPeriods - 1;
    period_of_[group] = first;
    // A group is taken to run at once from its start.
    double left = problem_.group_cost_us(group, placement[group]) / period_us;
    double room = first + 1 - period;
    own_share_[group] = std::min(left, room);
    for (std::int32_t at = first; at < kPeriods && left > 0; ++at) {
      busy_[placement[group]][static_cast<std::size_t>(at)] += std::min(left, room);
      left -= room;
      room = 1;
    }
  }
}

std::span<const Move> MoveProposals::propose(const Placement& placement, RandomStream& random) {
  best_.clear();
  if (problem_.placeable_devices().size() == 1) {
    return best_;
  }
  const std::int64_t candidates = random.uniform() < options_.uncompared ? 1 : options_.candidates;
  double best_gain = -std::numeric_limits<double>::infinity();
  for (std::int64_t candidate = 0; candidate < candidates; ++candidate) {
    draw(placement, random);
    const double gain = estimated_gain(placement);
    for (const Move& move : drawn_) {
      target_[move.group] = kStays;
    }
    if (gain > best_gain) {
      best_gain = gain;
      std::swap(best_, drawn_);
    }
    drawn_.clear();
  }
  return best_;
}

void MoveProposals::draw(const Placement& placement, RandomStream& random) {
  const auto group =
      static_cast<GroupId>(random.below(static_cast<std::uint64_t>(problem_.num_groups())));
  const DeviceId device = draw_device(placement, group, random);
  add(group, device);
  const double kind = random.uniform();
  if (kind < options_.cluster) {
    add_cluster(placement, device, random);
  } else if (kind < options_.cluster + options_.layer) {
    add_layer(placement, device);
  } else if (kind < options_.cluster + options_.layer + options_.swap) {
    add_swap(placement, device, random);
  }
}

// Returns a placeable device on which the group is not.
DeviceId MoveProposals::draw_device(const Placement& placement, GroupId group,
                                    RandomStream& random) const {
  const std::span<const Neighbour> around = neighbours(group);
  if (!around.empty() && random.uniform() < kNeighboursDevice) {
    const DeviceId device = placement[around[random.below(around.size())].group];
    if (device != placement[group]) {
      return device;
    }
  }
  // The last device stands in for the present one.
  const std::span<const DeviceId> devices = problem_.placeable_devices();
  const DeviceId device = devices[random.below(devices.size() - 1)];
  return device == placement[group] ? devices.back() : device;
}

void MoveProposals::add(GroupId group, DeviceId device) {
  drawn_.push_back({group, device});
  target_[group] = device;
}

void MoveProposals::add_cluster(const Placement& placement, DeviceId device, RandomStream& random) {
  if (!levels_.empty()) {
    add_others(levels_[random.below(levels_.size())].with(drawn_.front().group), placement, device);
  }
}

void MoveProposals::add_layer(const Placement& placement, DeviceId device) {
  add_others(layers_.with(drawn_.front().group), placement, device);
}

// Adds those of `groups` that share the device of the group that is drawn.
void MoveProposals::add_others(const std::vector<GroupId>& groups, const Placement& placement,
                               DeviceId device) {
  const GroupId group = drawn_.front().group;
  for (const GroupId other : groups) {
    if (other != group && placement[other] == placement[group]) {
      add(other, device);
    }
  }
}

void MoveProposals::add_swap(const Placement& placement, DeviceId device, RandomStream& random) {
  const GroupId group = drawn_.front().group;
  for (int i = 0; i < kTries; ++i) {
    const auto other =
        static_cast<GroupId>(random.below(static_cast<std::uint64_t>(problem_.num_groups())));
    if (placement[other] == device) {
      add(other, placement[group]);
      return;
    }
  }
}

double MoveProposals::estimated_gain(const Placement& placement) const {
  double gain_us = 0;
  double moved_us = mean_time_us_;
  for (const Move& move : drawn_) {
    const DeviceId from = placement[move.group];
    const double before_us = problem_.group_cost_us(move.group, from);
    const double after_us = problem_.group_cost_us(move.group, move.device);
    moved_us += after_us;
    gain_us += before_us * (1 + busy_share(from, move.group) - own_share_[move.group]) -
               after_us * (1 + busy_share(move.device, move.group));
    for (const Neighbour& other : neighbours(move.group)) {
      if (other.bytes == 0) {
        continue;
      }
      const DeviceId there = placement[other.group];
      const bool moves_too = target_[other.group] != kStays;
      const DeviceId there_after = moves_too ? target_[other.group] : there;
      const double saved_us = other.is_consumer
                                  ? problem_.transfer_us(other.bytes, from, there) -
                                        problem_.transfer_us(other.bytes, move.device, there_after)
                                  : problem_.transfer_us(other.bytes, there, from) -
                                        problem_.transfer_us(other.bytes, there_after, move.device);
      gain_us += moves_too ? saved_us / 2 : saved_us;  // an edge within is seen from both ends
    }
  }
  return gain_us / moved_us;
}

double MoveProposals::busy_share(DeviceId device, GroupId group) const {
  const std::vector<double>& busy = busy_[device];
  return busy.empty() ? 0.0 : busy[static_cast<std::size_t>(period_of_[group])];
}

}  // namespace emplace::agents

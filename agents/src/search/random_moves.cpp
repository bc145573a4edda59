#include "random_moves.hpp"

#include <map>
#include <string>

namespace emplace::agents {
namespace {

constexpr int kTries = 4;  // groups that are drawn to find one to swap with

// Adds those of `groups` that share the device of the first group that moves.
void add_others(const std::vector<GroupId>& groups, const Placement& placement,
                std::vector<Move>& moves) {
  const Move first = moves.front();
  for (const GroupId other : groups) {
    if (other != first.group && placement[other] == placement[first.group]) {
      moves.push_back({other, first.device});
    }
  }
}

}  // namespace

RandomMoves::RandomMoves(const Coarsening& coarsening, Options options)
    : problem_(coarsening.problem()), options_(options) {
  const Problem& problem = problem_;
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

  const std::vector<GroupId> sizes = coarsening.levels();
  for (const GroupId size : std::span(sizes).subspan(1)) {
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

std::size_t RandomMoves::draw(const Placement& placement, RandomStream& random,
                              std::vector<Move>& moves) const {
  const auto group =
      static_cast<GroupId>(random.below(static_cast<std::uint64_t>(problem_.num_groups())));
  moves.assign(1, {group, draw_device(placement, group, random)});
  const double kind = random.uniform();
  if (kind < options_.cluster) {
    return add_cluster(placement, random, moves);
  }
  if (kind < options_.cluster + options_.layer) {
    add_others(layers_.with(group), placement, moves);
    return levels_.size() + 1;
  }
  if (kind < options_.cluster + options_.layer + options_.swap) {
    add_swap(placement, random, moves);
  }
  return 0;
}

// Returns a placeable device on which the group is not.
DeviceId RandomMoves::draw_device(const Placement& placement, GroupId group,
                                  RandomStream& random) const {
  const std::span<const Neighbour> around = neighbours(group);
  if (!around.empty() && random.uniform() < options_.neighbour) {
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

std::size_t RandomMoves::add_cluster(const Placement& placement, RandomStream& random,
                                     std::vector<Move>& moves) const {
  if (levels_.empty()) {
    return 0;
  }
  const Move first = moves.front();
  const std::size_t level = random.below(levels_.size());
  const std::vector<GroupId>& cluster = levels_[level].with(first.group);
  if (options_.whole == 0 || random.uniform() >= options_.whole) {
    add_others(cluster, placement, moves);
    return level + 1;
  }
  for (const GroupId other : cluster) {
    if (other != first.group && placement[other] != first.device) {
      moves.push_back({other, first.device});
    }
  }
  return level + 1;
}

void RandomMoves::add_swap(const Placement& placement, RandomStream& random,
                           std::vector<Move>& moves) const {
  const Move first = moves.front();
  for (int i = 0; i < kTries; ++i) {
    const auto other =
        static_cast<GroupId>(random.below(static_cast<std::uint64_t>(problem_.num_groups())));
    if (placement[other] == first.device) {
      moves.push_back({other, placement[first.group]});
      return;
    }
  }
}

}  // namespace emplace::agents

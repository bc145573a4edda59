#include "random_moves.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace emplace::agents {
namespace {

constexpr int kTries = 4;  // groups that are drawn to find one to swap with

// Adds those of `groups` that share the device of the first group that moves.
void add_others(std::span<const GroupId> groups, const Placement& placement,
                std::vector<Move>& moves) {
  const Move first = moves.front();
  for (const GroupId other : groups) {
    if (other != first.group && placement[other] == placement[first.group]) {
      moves.push_back({other, first.device});
    }
  }
}

// Returns the layers of groups: equal numbers for equal scopes of their first ops.
IdVector<GroupId, std::int32_t> layers_of(const Problem& problem) {
  std::map<std::string_view, std::int32_t> layers;
  IdVector<GroupId, std::int32_t> layer_of;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    const std::string& scope = problem.op(problem.grouping().members(group).front()).scope;
    layer_of.push_back(
        layers.try_emplace(scope, static_cast<std::int32_t>(layers.size())).first->second);
  }
  return layer_of;
}

}  // namespace

RandomMoves::Parts::Parts(IdVector<GroupId, std::int32_t> part_of)
    : part_of_(std::move(part_of)), members_(part_of_.size()) {
  for (const std::int32_t part : part_of_) {
    begin_.resize(std::max(begin_.size(), index_of(part) + 2), 0);
    ++begin_[index_of(part) + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::size_t> next = begin_;
  for (GroupId group = 0; group < part_of_.end_id(); ++group) {
    members_[next[index_of(part_of_[group])]++] = group;
  }
}

RandomMoves::RandomMoves(const Coarsening& coarsening, Options options)
    : problem_(coarsening.problem()), options_(options), layers_(layers_of(problem_)) {
  double time_us = 0;
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    for (const DeviceId device : problem_.placeable_devices()) {
      time_us += problem_.group_cost_us(group, device);
    }
  }
  mean_time_us_ = time_us / static_cast<double>(problem_.num_groups()) /
                  static_cast<double>(problem_.placeable_devices().size());

  if (!problem_.constraints().empty()) {
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      if (problem_.constraints().pinned_device(group) == Problem::kNotPinned) {
        movable_.push_back(group);
      }
    }
  }

  const std::vector<GroupId> sizes = coarsening.levels();
  for (const GroupId size : std::span(sizes).subspan(1)) {
    const IdVector<GroupId, GroupId> parts = coarsening.parts(size);
    levels_.emplace_back(std::vector<std::int32_t>(parts.begin(), parts.end()));
  }
}

std::size_t RandomMoves::draw(const Placement& placement, RandomStream& random,
                              std::vector<Move>& moves) const {
  const GroupId group =
      movable_.empty()
          ? static_cast<GroupId>(random.below(static_cast<std::uint64_t>(problem_.num_groups())))
          : movable_[random.below(movable_.size())];
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
  const std::span<const GroupEdge> in = problem_.group_in_edges(group);
  const std::span<const GroupEdge> out = problem_.group_out_edges(group);
  if (in.size() + out.size() > 0 && random.uniform() < options_.neighbour) {
    const std::size_t drawn = random.below(in.size() + out.size());
    const DeviceId device =
        placement[drawn < in.size() ? in[drawn].producer : out[drawn - in.size()].consumer];
    if (device != placement[group] && problem_.is_placeable(device)) {
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
  const std::span<const GroupId> cluster = levels_[level].with(first.group);
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

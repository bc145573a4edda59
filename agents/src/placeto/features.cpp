#include "features.hpp"

#include <algorithm>

namespace emplace::agents::placeto {
namespace {

// Divides by the largest, if that is not 0.
std::vector<float> normalized(const std::vector<double>& numbers) {
  const double most = *std::ranges::max_element(numbers);
  std::vector<float> shares;
  shares.reserve(numbers.size());
  for (const double number : numbers) {
    shares.push_back(static_cast<float>(most != 0 ? number / most : number));
  }
  return shares;
}

// Describes message passing in which group g aggregates the messages of row g of `neighbours`.
MessagePassing message_passing(std::size_t num_groups, const nn::SegmentSum& neighbours) {
  MessagePassing result;
  std::int32_t aggregated = 0;
  for (std::size_t group = 0; group < num_groups; ++group) {
    result.residual.add(0, static_cast<std::int32_t>(group));
    const auto others = neighbours.of_row(group);
    if (!others.empty()) {
      for (const auto& [source, other] : others) {
        result.aggregate.add(0, other);
      }
      result.aggregate.end_row();
      result.residual.add(1, aggregated++);
    }
    result.residual.end_row();
  }
  return result;
}

}  // namespace

Graph::Graph(const Problem& problem)
    : num_devices_(problem.placeable_devices().size()),
      order_(problem.group_order().begin(), problem.group_order().end()),
      neighbours_(problem) {
  read_features(problem);
  forward_ = message_passing(size(), neighbours_.producers);
  backward_ = message_passing(size(), neighbours_.consumers);
}

void Graph::read_features(const Problem& problem) {
  const auto num_groups = static_cast<std::size_t>(problem.num_groups());
  IdVector<GroupId, double> cost_us(num_groups);
  IdVector<GroupId, double> bytes(num_groups);
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const GroupId group = problem.grouping().group_of(op);
    for (const DeviceId device : problem.placeable_devices()) {
      cost_us[group] += problem.cost_us(op, device);  // normalized, the sum equals the mean
    }
    // Uses of one output are adjacent.
    const auto [begin, end] = problem.uses_of(op);
    std::int32_t counted = Dependency::kControl;
    for (std::int32_t at = begin; at < end; ++at) {
      const Problem::Use& use = problem.uses()[at];
      if (use.output != Dependency::kControl && use.output != counted &&
          problem.grouping().group_of(use.consumer) != group) {
        counted = use.output;
        bytes[group] += static_cast<double>(problem.output_bytes(use.output));
      }
    }
  }
  cost_ = normalized(cost_us);
  bytes_ = normalized(bytes);
  read_times(problem, cost_us, bytes);
}

void Graph::read_times(const Problem& problem, const IdVector<GroupId, double>& cost_us,
                       const IdVector<GroupId, double>& bytes) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  const double largest_us =
      *std::ranges::max_element(cost_us) / static_cast<double>(devices.size());
  const double unit_us = largest_us > 0 ? largest_us : 1;
  std::vector<double> cost_on(size() * devices.size());
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const auto group = static_cast<std::size_t>(problem.grouping().group_of(op));
    for (std::size_t device = 0; device < devices.size(); ++device) {
      cost_on[group * devices.size() + device] += problem.cost_us(op, devices[device]) / unit_us;
    }
  }
  cost_on_.assign(cost_on.begin(), cost_on.end());
  bytes_out_.assign(bytes.begin(), bytes.end());
  constexpr std::int64_t kManyBytes = 1'000'000'000;
  for (const DeviceId from : devices) {
    for (const DeviceId to : devices) {
      const double latency_us = problem.transfer_us(0, from, to);
      const double many_us = problem.transfer_us(kManyBytes, from, to);
      routes_.push_back({static_cast<float>(latency_us / unit_us),
                         static_cast<float>((many_us - latency_us) / unit_us / kManyBytes)});
    }
  }
}

void Graph::find_relations(GroupId current, std::vector<Relation>& relations) const {
  relations.assign(size(), Relation::kPeer);
  relations[static_cast<std::size_t>(current)] = Relation::kSelf;
  // In topological order, a group descends from the current one if a producer does.
  const auto inherit = [&](GroupId group, const nn::SegmentSum& neighbours, Relation relation) {
    Relation& own = relations[static_cast<std::size_t>(group)];
    for (const auto& [source, other] : neighbours.of_row(static_cast<std::size_t>(group))) {
      const Relation its = relations[static_cast<std::size_t>(other)];
      if (own == Relation::kPeer && (its == relation || its == Relation::kSelf)) {
        own = relation;
      }
    }
  };
  for (const GroupId group : order_) {
    inherit(group, neighbours_.producers, Relation::kDescendant);
  }
  for (auto group = order_.rbegin(); group != order_.rend(); ++group) {
    inherit(*group, neighbours_.consumers, Relation::kAncestor);
  }
}

}  // namespace emplace::agents::placeto

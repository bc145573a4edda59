#include "placeto_graph.hpp"

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

// Makes the messages among `order`, where each group stands behind those that it hears.
template <class HeardBy>
Messages messages(std::span<const GroupId> order, const HeardBy& heard_by) {
  Messages result;
  std::vector<std::size_t> level(order.size(), 0);
  std::vector<std::vector<GroupId>> members;
  for (const GroupId group : order) {
    std::size_t& own = level[static_cast<std::size_t>(group)];
    for (const GroupId other : heard_by(group)) {
      own = std::max(own, level[static_cast<std::size_t>(other)] + 1);
    }
    members.resize(std::max(members.size(), own + 1));
    members[own].push_back(group);
  }

  std::int32_t hearing = 0;
  for (GroupId group = 0; group < static_cast<GroupId>(order.size()); ++group) {
    result.joined.add(0, group);
    const std::vector<GroupId> others = heard_by(group);
    if (!others.empty()) {
      for (const GroupId other : others) {
        result.heard.add(0, other);
      }
      result.heard.end_row();
      result.joined.add(1, hearing++);
    }
    result.joined.end_row();
  }

  // Where a group stands within its level.
  std::vector<std::int32_t> place(order.size());
  for (const std::vector<GroupId>& groups : members) {
    Messages::Level& now = result.levels.emplace_back();
    for (std::size_t at = 0; at < groups.size(); ++at) {
      place[static_cast<std::size_t>(groups[at])] = static_cast<std::int32_t>(at);
      now.joined.add(0, groups[at]);
      if (result.levels.size() > 1) {  // all but those of the first level hear somebody
        for (const GroupId other : heard_by(groups[at])) {
          now.heard.add(static_cast<std::int32_t>(level[static_cast<std::size_t>(other)]),
                        place[static_cast<std::size_t>(other)]);
        }
        now.heard.end_row();
        now.joined.add(1, static_cast<std::int32_t>(at));
      }
      now.joined.end_row();
    }
  }
  for (std::size_t group = 0; group < order.size(); ++group) {
    result.from_levels.add(static_cast<std::int32_t>(level[group]), place[group]);
    result.from_levels.end_row();
  }
  return result;
}

}  // namespace

Graph::Graph(const Problem& problem) : num_devices_(problem.placeable_devices().size()) {
  read_numbers(problem);
  const auto producers = [&](GroupId group) {
    std::vector<GroupId> groups;
    for (const GroupEdge& edge : problem.group_in_edges(group)) {
      groups.push_back(edge.producer);
    }
    return groups;
  };
  const auto consumers = [&](GroupId group) {
    std::vector<GroupId> groups;
    for (const GroupEdge& edge : problem.group_out_edges(group)) {
      groups.push_back(edge.consumer);
    }
    return groups;
  };
  const std::span<const GroupId> order = problem.group_order();
  down_ = messages(order, producers);
  up_ = messages(std::vector<GroupId>(order.rbegin(), order.rend()), consumers);
  find_ancestors(problem);
}

void Graph::read_numbers(const Problem& problem) {
  const auto num_groups = static_cast<std::size_t>(problem.num_groups());
  std::vector<double> cost_us(num_groups);
  std::vector<double> bytes(num_groups);
  std::vector<double> memory(num_groups);
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const GroupId own = problem.grouping().group_of(op);
    const auto group = static_cast<std::size_t>(own);
    for (const DeviceId device : problem.placeable_devices()) {
      cost_us[group] += problem.cost_us(op, device);  // the sum is the mean once it is normalized
    }
    const auto [first, last] = problem.outputs(op);
    if (first != last) {
      memory[group] += static_cast<double>(problem.output_allocated_bytes(first));
    }
    // Uses of one output stand together.
    const auto [begin, end] = problem.uses_of(op);
    std::int32_t counted = Dependency::kControl;
    for (std::int32_t at = begin; at < end; ++at) {
      const Problem::Use& use = problem.uses()[static_cast<std::size_t>(at)];
      if (use.output != Dependency::kControl && use.output != counted &&
          problem.grouping().group_of(use.consumer) != own) {
        counted = use.output;
        bytes[group] += static_cast<double>(problem.output_bytes(use.output));
      }
    }
  }
  cost_ = normalized(cost_us);
  bytes_ = normalized(bytes);
  memory_ = normalized(memory);
  read_times(problem, cost_us, bytes);
}

void Graph::read_times(const Problem& problem, std::span<const double> cost_us,
                       std::span<const double> bytes) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  const double dearest_us =
      *std::ranges::max_element(cost_us) / static_cast<double>(devices.size());
  const double unit_us = dearest_us > 0 ? dearest_us : 1;
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
      ways_.push_back({static_cast<float>(latency_us / unit_us),
                       static_cast<float>((many_us - latency_us) / unit_us / kManyBytes)});
    }
  }
}

void Graph::find_ancestors(const Problem& problem) {
  words_ = (size() + kBits - 1) / kBits;
  ancestors_.resize(size() * words_);
  for (const GroupId group : problem.group_order()) {
    std::uint64_t* const row = ancestors_.data() + static_cast<std::size_t>(group) * words_;
    for (const GroupEdge& edge : problem.group_in_edges(group)) {
      const auto producer = static_cast<std::size_t>(edge.producer);
      for (std::size_t word = 0; word < words_; ++word) {
        row[word] |= ancestors_[producer * words_ + word];
      }
      row[producer / kBits] |= std::uint64_t{1} << producer % kBits;
    }
  }
}

}  // namespace emplace::agents::placeto

#include "ranks.hpp"

#include <algorithm>
#include <queue>
#include <span>
#include <utility>

namespace emplace::agents {
namespace {

// Sums up the costs of each group on the placeable devices by `summary`, which may reorder them.
template <class Summary>
GroupTimes summarized_costs_us(const Problem& problem, Summary summary) {
  GroupTimes result;
  std::vector<double> costs;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    costs.clear();
    for (const DeviceId device : problem.placeable_devices()) {
      costs.push_back(problem.group_cost_us(group, device));
    }
    result.push_back(summary(costs));
  }
  return result;
}

double length_us(const Problem& problem, const GroupEdge& edge, Transfers transfers) {
  return transfers == Transfers::kMean ? problem.mean_transfer_us(edge.bytes) : 0.0;
}

}  // namespace

GroupTimes mean_costs_us(const Problem& problem) {
  return summarized_costs_us(problem, [](const std::vector<double>& costs) {
    double sum = 0;
    for (const double cost : costs) {
      sum += cost;
    }
    return sum / static_cast<double>(costs.size());
  });
}

GroupTimes median_costs_us(const Problem& problem) {
  return summarized_costs_us(problem, [](std::vector<double>& costs) {
    std::ranges::sort(costs);
    return (costs[(costs.size() - 1) / 2] + costs[costs.size() / 2]) / 2;
  });
}

GroupTimes least_costs_us(const Problem& problem) {
  return summarized_costs_us(
      problem, [](const std::vector<double>& costs) { return std::ranges::min(costs); });
}

GroupTimes times_to_end_us(const Problem& problem, const GroupTimes& costs_us,
                           Transfers transfers) {
  GroupTimes to_end(problem.num_groups(), 0.0);
  const std::span<const GroupId> order = problem.group_order();
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    double below = 0;
    for (const GroupEdge& edge : problem.group_out_edges(*group)) {
      below = std::max(below, length_us(problem, edge, transfers) + to_end[edge.consumer]);
    }
    to_end[*group] = costs_us[*group] + below;
  }
  return to_end;
}

GroupTimes times_from_start_us(const Problem& problem, const GroupTimes& costs_us,
                               Transfers transfers) {
  GroupTimes from_start(problem.num_groups(), 0.0);
  for (const GroupId group : problem.group_order()) {
    for (const GroupEdge& edge : problem.group_in_edges(group)) {
      const double through = from_start[edge.producer] + costs_us[edge.producer];
      from_start[group] =
          std::max(from_start[group], through + length_us(problem, edge, transfers));
    }
  }
  return from_start;
}

std::vector<GroupId> order_by_priority(const Problem& problem,
                                       const IdVector<GroupId, double>& priority) {
  IdVector<GroupId, std::int32_t> position(problem.num_groups());
  IdVector<GroupId, std::size_t> waiting_for(problem.num_groups());
  const auto comes_later = [&](GroupId a, GroupId b) {
    return std::pair(-priority[a], position[a]) > std::pair(-priority[b], position[b]);
  };
  std::priority_queue<GroupId, std::vector<GroupId>, decltype(comes_later)> next(comes_later);
  for (std::int32_t at = 0; const GroupId group : problem.group_order()) {
    position[group] = at++;
    waiting_for[group] = problem.group_in_edges(group).size();
    if (waiting_for[group] == 0) {
      next.push(group);
    }
  }
  std::vector<GroupId> order;
  order.reserve(position.size());
  while (!next.empty()) {
    const GroupId group = next.top();
    next.pop();
    order.push_back(group);
    for (const GroupEdge& edge : problem.group_out_edges(group)) {
      if (--waiting_for[edge.consumer] == 0) {
        next.push(edge.consumer);
      }
    }
  }
  return order;
}

}  // namespace emplace::agents

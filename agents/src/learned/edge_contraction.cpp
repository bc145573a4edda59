#include "edge_contraction.hpp"

#include "nn/elementary.hpp"

#include <emplace/graphs/contractible_dag.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace emplace::agents::placeto {
namespace {

std::size_t index(GroupId group) { return static_cast<std::size_t>(group); }

// A number of Gumbel's distribution: the largest of such numbers, each plus a score s, is that of
// an edge with a probability in proportion to e^s (Yellott 1977).
double gumbel(RandomStream& random) { return -nn::log_of(-nn::log_of(random.uniform() + 0x1p-54)); }

// Puts the likelier first, or draws an order.
void put_in_order(std::vector<std::size_t>& edges, std::span<const float> scores,
                  RandomStream* random) {
  std::vector<std::pair<double, std::size_t>> keys;
  for (const std::size_t edge : edges) {
    const double score = scores[edge];
    keys.emplace_back(-(random != nullptr ? score + gumbel(*random) : score), edge);
  }
  std::ranges::sort(keys);
  std::ranges::transform(keys, edges.begin(), [](const auto& key) { return key.second; });
}

}  // namespace

GroupId groups_after_contraction(const Problem& problem, GroupId target) {
  std::vector<GroupId> parent(index(problem.num_groups()));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](GroupId group) {
    while (parent[index(group)] != group) {
      group = parent[index(group)] = parent[index(parent[index(group)])];
    }
    return group;
  };
  GroupId parts = problem.num_groups();
  for (const GroupEdge& edge : problem.group_edges()) {
    const GroupId from = root(edge.producer);
    const GroupId to = root(edge.consumer);
    parent[index(from)] = to;
    parts -= from != to ? 1 : 0;
  }
  return std::max(parts, std::min(target, problem.num_groups()));
}

EdgeContraction::EdgeContraction(const Problem& problem, GroupId target, double balance)
    : target_(groups_after_contraction(problem, target)),
      order_(problem.group_order().begin(), problem.group_order().end()) {
  for (const GroupEdge& edge : problem.group_edges()) {
    ends_.emplace_back(edge.producer, edge.consumer);
    bytes_.push_back(edge.bytes);
  }
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    double& cost_us = cost_us_.emplace_back(0);
    for (const DeviceId device : problem.placeable_devices()) {
      cost_us += problem.group_cost_us(group, device) /
                 static_cast<double>(problem.placeable_devices().size());
    }
    total_us_ += cost_us;
  }
  most_us_ = balance * total_us_ / static_cast<double>(target_);
}

EdgeContraction::Draw EdgeContraction::draw(std::span<const float> scores,
                                            RandomStream* random) const {
  ContractibleDag dag(ends_, bytes_, order_, std::numeric_limits<std::size_t>::max());
  std::vector<double> cost_us = cost_us_;
  Draw draw{.coarse_of = {}, .slopes = std::vector<double>(ends_.size(), 0.0)};
  std::vector<double> odds;
  const double largest = scores.empty() ? 0 : *std::ranges::max_element(scores);
  for (const float score : scores) {
    odds.push_back(nn::exp_of(score - largest));
  }

  std::vector<std::size_t> waiting(ends_.size());
  std::iota(waiting.begin(), waiting.end(), std::size_t{0});
  auto left = static_cast<GroupId>(order_.size());
  for (double most_us = most_us_; left > target_; most_us *= 2) {
    const GroupId left_before = left;
    std::vector<std::size_t> open = std::move(waiting);
    waiting.clear();
    const auto close = [&] {
      std::erase_if(open, [&](std::size_t edge) {
        const GroupId from = dag.find(ends_[edge].first);
        const GroupId to = dag.find(ends_[edge].second);
        const bool too_heavy = cost_us[index(from)] + cost_us[index(to)] > most_us;
        if (from != to && too_heavy) {
          waiting.push_back(edge);
        }
        return from == to || too_heavy;
      });
    };
    close();
    put_in_order(open, scores, random);
    while (left > target_ && !open.empty()) {
      double sum = 0;
      for (const std::size_t edge : open) {
        sum += odds[edge];
      }
      for (const std::size_t edge : open) {
        draw.slopes[edge] -= sum > 0 ? odds[edge] / sum : 0;
      }
      const std::size_t drawn = open.front();
      draw.slopes[drawn] += 1;
      open.erase(open.begin());
      const GroupId from = dag.find(ends_[drawn].first);
      const GroupId to = dag.find(ends_[drawn].second);
      if (const auto joined = dag.contract(from, to)) {
        cost_us[index(*joined)] = cost_us[index(from)] + cost_us[index(to)];
        --left;
        close();
      } else {
        waiting.push_back(drawn);  // until the second way between its ends has become one with them
      }
    }
    if (left == left_before && most_us >= total_us_) {
      break;
    }
  }

  std::vector<GroupId> number(order_.size());
  GroupId next = 0;
  for (const GroupId group : dag.order()) {
    number[index(group)] = next++;
  }
  for (GroupId group = 0; group < static_cast<GroupId>(order_.size()); ++group) {
    draw.coarse_of.push_back(number[index(dag.find(group))]);
  }
  return draw;
}

}  // namespace emplace::agents::placeto

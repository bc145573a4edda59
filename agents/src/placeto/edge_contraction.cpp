#include "edge_contraction.hpp"

#include <emplace/graphs/contractible_dag.hpp>
#include <emplace/graphs/elementary.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace emplace::agents::placeto {
namespace {

// Returns a sample of Gumbel's distribution. Of edges whose scores s each have such a number added,
// the largest is that of an edge with probability proportional to e^s (Yellott 1977).
double gumbel(RandomStream& random) { return -log_of(-log_of(random.uniform() + 0x1p-54)); }

// Orders edges by decreasing score, or samples an order (Gumbel-max trick).
void sort_edges(std::vector<std::size_t>& edges, std::span<const float> scores,
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
  IdVector<GroupId, GroupId> parent(static_cast<std::size_t>(problem.num_groups()));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](GroupId group) {
    while (parent[group] != group) {
      group = parent[group] = parent[parent[group]];
    }
    return group;
  };
  GroupId components = problem.num_groups();
  for (const GroupEdge& edge : problem.group_edges()) {
    const GroupId from = root(edge.producer);
    const GroupId to = root(edge.consumer);
    parent[from] = to;
    components -= from != to ? 1 : 0;
  }
  return std::max(components, std::min(target, problem.num_groups()));
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
  limit_us_ = balance * total_us_ / static_cast<double>(target_);
}

EdgeContraction::Draw EdgeContraction::draw(std::span<const float> scores,
                                            RandomStream* random) const {
  ContractibleDag dag(ends_, bytes_, order_, std::numeric_limits<std::size_t>::max());
  IdVector<GroupId, double> cost_us = cost_us_;
  Draw draw{.coarse_of = {}, .log_probability_gradient = std::vector<double>(ends_.size(), 0.0)};
  std::vector<double> exponentials;
  const double largest = scores.empty() ? 0 : *std::ranges::max_element(scores);
  for (const float score : scores) {
    exponentials.push_back(exp_of(score - largest));
  }

  std::vector<std::size_t> deferred(ends_.size());
  std::iota(deferred.begin(), deferred.end(), std::size_t{0});
  auto left = static_cast<GroupId>(order_.size());
  for (double limit_us = limit_us_; left > target_; limit_us *= 2) {
    const GroupId left_before = left;
    std::vector<std::size_t> candidates = std::move(deferred);
    deferred.clear();
    const auto remove_ineligible = [&] {
      std::erase_if(candidates, [&](std::size_t edge) {
        const GroupId from = dag.find(ends_[edge].first);
        const GroupId to = dag.find(ends_[edge].second);
        const bool too_heavy = cost_us[from] + cost_us[to] > limit_us;
        if (from != to && too_heavy) {
          deferred.push_back(edge);
        }
        return from == to || too_heavy;
      });
    };
    remove_ineligible();
    sort_edges(candidates, scores, random);
    while (left > target_ && !candidates.empty()) {
      double sum = 0;
      for (const std::size_t edge : candidates) {
        sum += exponentials[edge];
      }
      for (const std::size_t edge : candidates) {
        draw.log_probability_gradient[edge] -= sum > 0 ? exponentials[edge] / sum : 0;
      }
      const std::size_t drawn = candidates.front();
      draw.log_probability_gradient[drawn] += 1;
      candidates.erase(candidates.begin());
      const GroupId from = dag.find(ends_[drawn].first);
      const GroupId to = dag.find(ends_[drawn].second);
      if (const auto joined = dag.contract(from, to)) {
        cost_us[*joined] = cost_us[from] + cost_us[to];
        --left;
        remove_ineligible();
      } else {
        deferred.push_back(drawn);  // until no second path connects its ends
      }
    }
    if (left == left_before && limit_us >= total_us_) {
      break;
    }
  }

  IdVector<GroupId, GroupId> number(order_.size());
  GroupId next = 0;
  for (const GroupId group : dag.order()) {
    number[group] = next++;
  }
  for (GroupId group = 0; group < number.end_id(); ++group) {
    draw.coarse_of.push_back(number[dag.find(group)]);
  }
  return draw;
}

}  // namespace emplace::agents::placeto

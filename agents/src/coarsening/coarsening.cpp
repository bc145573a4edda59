#include "coarsening.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/contractible_dag.hpp>

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>

namespace emplace::agents {
namespace {

using Pair = std::pair<GroupId, GroupId>;
using Times = IdVector<GroupId, double>;

// Finds the set of a member; sets are trees of parents.
GroupId find_root(IdVector<GroupId, GroupId>& parent, GroupId member) {
  while (parent[member] != member) {
    parent[member] = parent[parent[member]];
    member = parent[member];
  }
  return member;
}

IdVector<GroupId, GroupId> sets_of_one(GroupId count) {
  IdVector<GroupId, GroupId> parent(index_of(count));
  std::iota(parent.begin(), parent.end(), 0);
  return parent;
}

// Returns the mean time of each group over the placeable devices, in microseconds.
Times mean_times(const Problem& problem) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  Times times(index_of(problem.num_groups()), 0.0);
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (const DeviceId device : devices) {
      times[group] += problem.group_cost_us(group, device);
    }
    times[group] /= static_cast<double>(devices.size());
  }
  return times;
}

// Returns the separation of both ends of each edge, in nanoseconds: whole numbers, so that sums do
// not depend on their order.
std::vector<std::int64_t> separations(const Problem& problem, const Times& times) {
  // The longest paths that end before a group starts, and that start after it ends.
  Times before(times.size(), 0.0);
  Times after(times.size(), 0.0);
  const std::span<const GroupId> order = problem.group_order();
  double longest_us = 0;
  for (const GroupId group : order) {
    for (const GroupEdge& edge : problem.group_in_edges(group)) {
      before[group] = std::max(before[group], before[edge.producer] + times[edge.producer]);
    }
    longest_us = std::max(longest_us, before[group] + times[group]);
  }
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    for (const GroupEdge& edge : problem.group_out_edges(*group)) {
      after[*group] = std::max(after[*group], times[edge.consumer] + after[edge.consumer]);
    }
  }
  constexpr double kMostNs = 1e18;
  std::vector<std::int64_t> separations;
  separations.reserve(problem.group_edges().size());
  for (const GroupEdge& edge : problem.group_edges()) {
    const double transfer_us = edge.bytes > 0 ? problem.mean_transfer_us(edge.bytes) : 0;
    const double slack_us = longest_us - before[edge.producer] - times[edge.producer] -
                            times[edge.consumer] - after[edge.consumer];
    const double exposed_us = std::max(0.0, transfer_us - slack_us);
    separations.push_back(std::llround(std::min((transfer_us + exposed_us) * 1e3, kMostNs)));
  }
  return separations;
}

// Two neighbours that may join, least first.
struct Candidate {
  int excess;      // powers of two by which both are heavier than an average group
  double rating;   // negative, so that the highest comes first
  double time_us;  // of both
  GroupId producer;
  GroupId consumer;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 15 takes the 0 behind <=> for a pointer
  auto operator<=>(const Candidate&) const = default;
};

// Joins groups, level after level.
class Joiner {
 public:
  explicit Joiner(const Problem& problem)
      : times_(mean_times(problem)),
        total_us_(std::accumulate(times_.begin(), times_.end(), 0.0)),
        num_groups_(problem.num_groups()),
        constraints_(problem.constraints()),
        dag_(dag_of(problem, times_)) {}

  std::vector<Pair> take() && { return std::move(joins_); }

  // Joins until `target` groups are left or no two can join.
  void join_to(GroupId target) {
    average_us_ = total_us_ > 0 ? total_us_ / target : 1;
    queue_ = {};
    for (const GroupId producer : dag_.order()) {
      for (const auto& [consumer, weight] : dag_.successors(producer)) {
        enqueue(producer, consumer);
      }
    }
    while (num_groups_ > target && !queue_.empty()) {
      const Candidate candidate = queue_.top();
      queue_.pop();
      consider(candidate);
    }
  }

 private:
  static ContractibleDag dag_of(const Problem& problem, const Times& times) {
    std::vector<Pair> edges;
    for (const GroupEdge& edge : problem.group_edges()) {
      edges.emplace_back(edge.producer, edge.consumer);
    }
    std::vector<std::int64_t> weights = separations(problem, times);
    // Parts that nothing connects are chained in topological order, at no cost of separation.
    IdVector<GroupId, GroupId> part = sets_of_one(problem.num_groups());
    for (const Pair& edge : edges) {
      part[find_root(part, edge.first)] = find_root(part, edge.second);
    }
    const std::span<const GroupId> order = problem.group_order();
    for (std::size_t at = 1; at < order.size(); ++at) {
      const GroupId first = find_root(part, order[at - 1]);
      const GroupId second = find_root(part, order[at]);
      if (first != second) {
        part[first] = second;
        edges.emplace_back(order[at - 1], order[at]);
        weights.push_back(0);
      }
    }
    return {edges, weights, order, kMaxCycleSearch};
  }

  // Groups of one device or one set alone join, so that each level has the same constraints.
  void enqueue(GroupId producer, GroupId consumer) {
    if (constraints_.class_of(dag_.find(producer)) == constraints_.class_of(dag_.find(consumer))) {
      queue_.push(rate(producer, consumer));
    }
  }

  Candidate rate(GroupId producer, GroupId consumer) {
    const GroupId from = dag_.find(producer);
    const GroupId to = dag_.find(consumer);
    const double time_us = times_[from] + times_[to];
    const auto separation_ns = static_cast<double>(dag_.successors(from).at(to));
    return {.excess = time_us <= average_us_ ? 0 : std::ilogb(time_us / average_us_) + 1,
            .rating = -separation_ns / (time_us + average_us_),
            .time_us = time_us,
            .producer = producer,
            .consumer = consumer};
  }

  void consider(const Candidate& candidate) {
    const GroupId from = dag_.find(candidate.producer);
    const GroupId to = dag_.find(candidate.consumer);
    if (from == to) {
      return;
    }
    if (const Candidate now = rate(candidate.producer, candidate.consumer); now != candidate) {
      queue_.push(now);
      return;
    }
    const std::optional<GroupId> joined = dag_.contract(from, to);
    if (!joined) {
      // Once the second path has shrunk into one of the two groups, its last edge joins them, and
      // that edge is a candidate too.
      return;
    }
    joins_.emplace_back(candidate.producer, candidate.consumer);
    --num_groups_;
    times_[*joined] = candidate.time_us;
    // What gained weight may rate higher than it stands in the queue.
    for (const auto& [producer, consumer] : dag_.thickened()) {
      enqueue(producer, consumer);
    }
  }

  Times times_;
  double total_us_;
  double average_us_ = 0;  // of the groups of the level
  GroupId num_groups_;
  const GroupConstraints& constraints_;
  ContractibleDag dag_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
  std::vector<Pair> joins_;
};

GroupId halved(GroupId groups) { return (groups + 1) / 2; }

}  // namespace

const std::vector<Coarsening::Pair>& Coarsening::joins() const {
  std::call_once(has_joined_, [this] {
    Joiner joiner(problem_);
    for (GroupId target = problem_.num_groups(); target > 1;) {
      target = halved(target);
      joiner.join_to(target);
    }
    joins_ = std::move(joiner).take();
  });
  return joins_;
}

std::vector<GroupId> Coarsening::levels() const {
  const auto devices = static_cast<GroupId>(problem_.placeable_devices().size());
  const GroupId coarsest = std::max<GroupId>(kCoarsestPerDevice * devices, fewest_groups());
  std::vector<GroupId> levels{problem_.num_groups()};
  while (halved(levels.back()) >= coarsest && levels.back() > 1) {
    levels.push_back(halved(levels.back()));
  }
  return levels;
}

IdVector<GroupId, GroupId> Coarsening::parts(GroupId groups) const {
  const GroupId num_groups = problem_.num_groups();
  const GroupId count = std::clamp(groups, fewest_groups(), num_groups);
  IdVector<GroupId, GroupId> parent = sets_of_one(num_groups);
  for (const auto& [one, other] : std::span(joins()).first(index_of(num_groups - count))) {
    const GroupId first = find_root(parent, one);
    const GroupId second = find_root(parent, other);
    parent[std::max(first, second)] = std::min(first, second);
  }
  IdVector<GroupId, GroupId> number(index_of(num_groups));
  GroupId next = 0;
  for (GroupId group = 0; group < num_groups; ++group) {
    const GroupId root = find_root(parent, group);
    number[group] = root == group ? next++ : number[root];
  }
  return number;
}

Grouping Coarsening::grouping(GroupId groups) const {
  const IdVector<GroupId, GroupId> part = parts(groups);
  std::vector<GroupEdge> edges;
  for (const GroupEdge& edge : problem_.group_edges()) {
    if (part[edge.producer] != part[edge.consumer]) {
      edges.push_back({part[edge.producer], part[edge.consumer], 0});
    }
  }
  const std::vector<GroupId> order =
      topological_order(std::clamp(groups, fewest_groups(), problem_.num_groups()), edges);
  IdVector<GroupId, GroupId> place(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) {
    place[order[at]] = static_cast<GroupId>(at);
  }
  std::vector<GroupId> group_of;
  group_of.reserve(index_of(problem_.num_ops()));
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    group_of.push_back(place[part[problem_.grouping().group_of(op)]]);
  }
  return Grouping(std::move(group_of));
}

}  // namespace emplace::agents

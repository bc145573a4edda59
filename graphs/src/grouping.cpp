#include "contractible_dag.hpp"
#include "topological_sort.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/grouping.hpp>

#include <boost/graph/strong_components.hpp>
#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <compare>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace emplace {
namespace {

using GroupEdges = std::vector<std::pair<GroupId, GroupId>>;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// Returns `group_of` with groups numbered in the order of their first ops.
std::vector<GroupId> numbered_by_first_op(const std::vector<GroupId>& group_of) {
  std::unordered_map<GroupId, GroupId> number;
  std::vector<GroupId> result;
  result.reserve(group_of.size());
  for (const GroupId group : group_of) {
    result.push_back(number.try_emplace(group, static_cast<GroupId>(number.size())).first->second);
  }
  return result;
}

GroupId count_groups(const std::vector<GroupId>& group_of) {
  return group_of.empty() ? 0 : *std::ranges::max_element(group_of) + 1;
}

GroupEdges edges_between(const OpGraph& graph, const std::vector<GroupId>& group_of) {
  GroupEdges edges;
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    const auto from = group_of[boost::source(edge, graph)];
    const auto to = group_of[boost::target(edge, graph)];
    if (from != to) {
      edges.emplace_back(from, to);
    }
  }
  return edges;
}

// Rule 1: ops with the same label form a group, any other op one of its own.
std::vector<GroupId> groups_of_labels(const OpGraph& graph) {
  std::unordered_map<std::string_view, OpId> first_with;
  std::vector<GroupId> group_of;
  group_of.reserve(boost::num_vertices(graph));
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const std::string& label = graph[index(op)].colocation;
    group_of.push_back(label.empty() ? op : first_with.try_emplace(label, op).first->second);
  }
  return numbered_by_first_op(group_of);
}

// Joins the groups on each cycle: where labels tie an early op to a late one, whatever lies between
// the two must be with them.
std::vector<GroupId> without_cycles(const OpGraph& graph, const std::vector<GroupId>& group_of) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> groups(
      index(count_groups(group_of)));
  for (const auto& [from, to] : edges_between(graph, group_of)) {
    boost::add_edge(index(from), index(to), groups);
  }
  std::vector<GroupId> component(boost::num_vertices(groups));
  boost::strong_components(groups, boost::make_iterator_property_map(
                                       component.begin(), boost::get(boost::vertex_index, groups)));
  std::vector<GroupId> result;
  result.reserve(group_of.size());
  for (const GroupId group : group_of) {
    result.push_back(component[index(group)]);
  }
  return numbered_by_first_op(result);
}

// The leading path elements that two scopes share.
std::string_view common_scope(std::string_view a, std::string_view b) {
  const auto [end, other] = std::ranges::mismatch(a, b);
  const auto length = static_cast<std::size_t>(end - a.begin());
  const auto ends_element = [length](std::string_view scope) {
    return length == scope.size() || scope[length] == '/';
  };
  if (ends_element(a) && ends_element(b)) {
    return a.substr(0, length);
  }
  const auto slash = a.substr(0, length).rfind('/');
  return slash == std::string_view::npos ? std::string_view() : a.substr(0, slash);
}

int depth_of(std::string_view scope) {
  return scope.empty() ? 0 : 1 + static_cast<int>(std::ranges::count(scope, '/'));
}

// What the merge order depends on.
struct Cluster {
  std::uint64_t weight = 0;  // work of the members
  std::string_view scope{};  // what their scopes have in common
  bool forward = false;      // has ops of the forward pass
  bool backward = false;     // has ops of the backward pass or updates
};

// A graph knows no times: bytes moved, and as many FLOPs as a device typically does while it moves
// a byte.
std::uint64_t work_of(const Op& op) {
  constexpr std::uint64_t kFlopsPerByte = 50;
  return static_cast<std::uint64_t>(op.bytes_read) + static_cast<std::uint64_t>(op.bytes_written) +
         static_cast<std::uint64_t>(op.flops) / kFlopsPerByte;
}

Cluster cluster_of(const Op& op) {
  return {.weight = work_of(op),
          .scope = op.scope,
          .forward = op.phase == Phase::kForward,
          .backward = op.phase != Phase::kForward};
}

Cluster merged(const Cluster& a, const Cluster& b) {
  return {.weight = a.weight + b.weight,
          .scope = common_scope(a.scope, b.scope),
          .forward = a.forward || b.forward,
          .backward = a.backward || b.backward};
}

// Two neighbours that may merge, least first. Weights count by order of magnitude only: so a pair's
// place changes a few times at most while its groups grow, and apart from becoming a rule 2 pair,
// which is noticed when it happens, it only ever gets worse. An entry can be checked when its turn
// comes.
struct Candidate {
  bool crosses_phases;
  int shallowness;  // minus the depth of the common scope
  int excess;       // bits of the combined weight over what a group weighs on average in the end
  int rule;         // 2 or 3
  int magnitude;    // bits of the combined weight
  GroupId producer;
  GroupId consumer;

  auto operator<=>(const Candidate&) const = default;
};

// Rules 2 and 3.
class Merger {
 public:
  Merger(const OpGraph& graph, std::vector<GroupId> group_of, const GroupEdges& edges,
         std::span<const GroupId> order, GroupId target)
      : target_(target),
        group_of_(std::move(group_of)),
        num_groups_(static_cast<GroupId>(order.size())),
        dag_(edges, order, kMaxCycleSearch) {
    for (OpId op = 0; op < num_ops(graph); ++op) {
      const auto group = index(group_of_[index(op)]);
      const Cluster single = cluster_of(graph[index(op)]);
      average_weight_ += single.weight;
      if (group == clusters_.size()) {  // groups are numbered by their first ops
        clusters_.push_back(single);
      } else {
        clusters_[group] = merged(clusters_[group], single);
      }
    }
    average_weight_ = average_weight_ / static_cast<std::uint64_t>(target) + 1;
    for (GroupId producer = 0; producer < num_groups_; ++producer) {
      for (const GroupId consumer : dag_.successors(producer)) {
        queue_.push(rate(producer, consumer));
      }
    }
  }

  // Merges until the target is reached or nothing can merge; returns the group of each op.
  std::vector<GroupId> run() && {
    while (num_groups_ > target_ && !queue_.empty()) {
      const Candidate candidate = queue_.top();
      queue_.pop();
      consider(candidate);
    }
    for (GroupId& group : group_of_) {
      group = dag_.find(group);
    }
    return std::move(group_of_);
  }

 private:
  Candidate rate(GroupId producer, GroupId consumer) {
    const GroupId from = dag_.find(producer);
    const Cluster both = merged(clusters_[index(from)], clusters_[index(dag_.find(consumer))]);
    return {.crosses_phases = both.forward && both.backward,
            .shallowness = -depth_of(both.scope),
            .excess = static_cast<int>(std::bit_width(both.weight / average_weight_)),
            .rule = dag_.successors(from).size() == 1 ? 2 : 3,
            .magnitude = static_cast<int>(std::bit_width(both.weight)),
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
    const auto joined = dag_.contract(from, to);
    if (!joined) {
      // Nothing is lost: once the second path has shrunk into one of the two groups, its last edge
      // joins them, and that edge is a candidate too.
      return;
    }
    clusters_[index(*joined)] = merged(clusters_[index(from)], clusters_[index(to)]);
    --num_groups_;
    for (const GroupId producer : dag_.narrowed()) {
      queue_.push(rate(producer, *joined));
    }
    if (const auto& successors = dag_.successors(*joined); successors.size() == 1) {
      queue_.push(rate(*joined, *successors.begin()));
    }
  }

  GroupId target_;
  std::vector<GroupId> group_of_;
  GroupId num_groups_;
  std::uint64_t average_weight_ = 0;  // of a group when the target is reached, rounded up
  std::vector<Cluster> clusters_;
  ContractibleDag dag_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
};

}  // namespace

Grouping::Grouping(std::vector<GroupId> group_of) : group_of_(std::move(group_of)) {
  offset_.resize(index(count_groups(group_of_)) + 1, 0);
  for (const GroupId group : group_of_) {
    EMPLACE_CHECK(group >= 0, "group {}", group);
    ++offset_[index(group) + 1];
  }
  for (std::size_t group = 1; group < offset_.size(); ++group) {
    EMPLACE_CHECK(offset_[group] > 0, "group {} has no ops", group - 1);
    offset_[group] += offset_[group - 1];
  }
  members_.resize(group_of_.size());
  auto next = offset_;
  for (OpId op = 0; op < num_ops(); ++op) {
    members_[next[index(group_of_[index(op)])]++] = op;
  }
}

std::span<const OpId> Grouping::members(GroupId group) const {
  const auto first = offset_[index(group)];
  return std::span(members_).subspan(first, offset_[index(group) + 1] - first);
}

Grouping group_ops(const OpGraph& graph, GroupId target) {
  if (target < 1) {
    throw Error(ErrorCode::kUsage, fmt::format("expected at least 1 group, found {}", target));
  }
  topological_order(graph);  // says which ops are on a cycle, if there is one without labels
  auto group_of = without_cycles(graph, groups_of_labels(graph));
  const auto edges = edges_between(graph, group_of);
  const auto start = sort_topologically(count_groups(group_of), edges);
  group_of =
      numbered_by_first_op(Merger(graph, std::move(group_of), edges, start.order, target).run());

  const auto sorted = sort_topologically(count_groups(group_of), edges_between(graph, group_of));
  EMPLACE_CHECK(sorted.cycle.empty(), "merging made a cycle of {} groups", sorted.cycle.size());
  std::vector<GroupId> number(sorted.order.size());
  for (std::size_t position = 0; position < sorted.order.size(); ++position) {
    number[index(sorted.order[position])] = static_cast<GroupId>(position);
  }
  for (GroupId& group : group_of) {
    group = number[index(group)];
  }
  return Grouping(std::move(group_of));
}

Grouping ungrouped(const OpGraph& graph) {
  std::vector<GroupId> group_of(boost::num_vertices(graph));
  std::iota(group_of.begin(), group_of.end(), 0);
  return Grouping(std::move(group_of));
}

}  // namespace emplace

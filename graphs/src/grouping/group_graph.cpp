#include "group_graph.hpp"

#include "model/topological_sort.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>

#include <boost/graph/strong_components.hpp>
#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <unordered_map>

namespace emplace {
namespace {

// Ops with the same label form a group, any other op one of its own.
std::vector<GroupId> groups_of_labels(const OpGraph& graph) {
  std::unordered_map<std::string_view, OpId> first_with;
  std::vector<GroupId> group_of;
  group_of.reserve(boost::num_vertices(graph));
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const std::string& label = graph[index_of(op)].colocation;
    group_of.push_back(
        GroupId(label.empty() ? op : first_with.try_emplace(label, op).first->second));
  }
  return numbered_by_first_op(group_of);
}

// Joins the groups on each cycle: where labels tie an early op to a late one, whatever lies between
// the two must be with them.
std::vector<GroupId> without_cycles(const OpGraph& graph, IdSpan<OpId, const GroupId> group_of) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> groups(
      index_of(count_groups(group_of)));
  for (const auto& [from, to] : edges_between(graph, group_of).ends) {
    boost::add_edge(index_of(from), index_of(to), groups);
  }
  std::vector<GroupId> component(boost::num_vertices(groups));
  boost::strong_components(groups, boost::make_iterator_property_map(
                                       component.begin(), boost::get(boost::vertex_index, groups)));
  std::vector<GroupId> result;
  result.reserve(group_of.size());
  for (const GroupId group : group_of) {
    result.push_back(component[index_of(group)]);
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

}  // namespace

std::uint64_t work_of(const Op& op) {
  constexpr std::uint64_t kFlopsPerByte = 50;
  return static_cast<std::uint64_t>(op.bytes_read) + static_cast<std::uint64_t>(op.bytes_written) +
         static_cast<std::uint64_t>(op.flops) / kFlopsPerByte;
}

GroupContent content_of(const Op& op) {
  return {.work = work_of(op),
          .scope = op.scope,
          .forward = op.phase == Phase::kForward,
          .backward = op.phase != Phase::kForward};
}

GroupContent merged(const GroupContent& a, const GroupContent& b) {
  return {.work = a.work + b.work,
          .scope = common_scope(a.scope, b.scope),
          .forward = a.forward || b.forward,
          .backward = a.backward || b.backward};
}

int depth_of(std::string_view scope) {
  return scope.empty() ? 0 : 1 + static_cast<int>(std::ranges::count(scope, '/'));
}

std::vector<GroupId> colocated_groups(const OpGraph& graph) {
  topological_order(graph);  // says which ops are on a cycle, if there is one without labels
  return without_cycles(graph, groups_of_labels(graph));
}

std::vector<GroupId> numbered_by_first_op(IdSpan<OpId, const GroupId> group_of) {
  std::unordered_map<GroupId, GroupId> number;
  std::vector<GroupId> result;
  result.reserve(group_of.size());
  for (const GroupId group : group_of) {
    result.push_back(number.try_emplace(group, static_cast<GroupId>(number.size())).first->second);
  }
  return result;
}

GroupId count_groups(IdSpan<OpId, const GroupId> group_of) {
  return group_of.empty() ? 0 : *std::ranges::max_element(group_of) + 1;
}

GroupEdges edges_between(const OpGraph& graph, IdSpan<OpId, const GroupId> group_of) {
  GroupEdges edges;
  std::vector<std::pair<GroupId, std::int32_t>> uses;  // consuming group and output of one op
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const GroupId from = group_of[op];
    uses.clear();
    for (const auto edge : boost::make_iterator_range(boost::out_edges(index_of(op), graph))) {
      const GroupId to = group_of[boost::target(edge, graph)];
      if (to != from && !orders_micro_batches(graph[edge].output, graph[index_of(op)],
                                              graph[boost::target(edge, graph)])) {
        uses.emplace_back(to, graph[edge].output);
      }
    }
    std::ranges::sort(uses);
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    for (const auto& [to, output] : uses) {
      edges.ends.emplace_back(from, to);
      edges.bytes.push_back(
          output == Dependency::kControl ? 0 : graph[index_of(op)].outputs[index_of(output)].bytes);
    }
  }
  return edges;
}

IdVector<GroupId, GroupContent> contents_of(const OpGraph& graph,
                                            IdSpan<OpId, const GroupId> group_of) {
  IdVector<GroupId, GroupContent> contents;
  for (OpId id = 0; id < num_ops(graph); ++id) {
    const Op& op = graph[index_of(id)];
    const GroupContent single = content_of(op);
    const GroupId group = group_of[id];
    if (group == contents.end_id()) {
      contents.push_back(single);
    } else {
      contents[group] = merged(contents[group], single);
    }
  }
  return contents;
}

Grouping in_topological_order(const OpGraph& graph, IdSpan<OpId, const GroupId> group_of) {
  std::vector<GroupId> numbered = numbered_by_first_op(group_of);
  const auto sorted =
      sort_topologically(count_groups(numbered), edges_between(graph, numbered).ends);
  EMPLACE_CHECK(sorted.cycle.empty(), "grouping made a cycle of {} groups", sorted.cycle.size());
  IdVector<GroupId, GroupId> number(sorted.order.size());
  for (std::size_t position = 0; position < sorted.order.size(); ++position) {
    number[sorted.order[position]] = static_cast<GroupId>(position);
  }
  for (GroupId& group : numbered) {
    group = number[group];
  }
  return Grouping(std::move(numbered));
}

}  // namespace emplace

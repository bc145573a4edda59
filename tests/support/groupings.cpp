#include "support/groupings.hpp"

#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <map>
#include <numeric>

namespace emplace::test {

OpGraph graph_of(OpId num_ops, const Edges& edges) {
  OpGraph graph;
  graph[boost::graph_bundle].name = "hand-made";
  for (OpId op = 0; op < num_ops; ++op) {
    boost::add_vertex({.name = "op" + std::to_string(op),
                       .kind = "relu",
                       .bytes_read = 100,
                       .outputs = {{.bytes = 4}}},
                      graph);
  }
  for (const auto& [producer, consumer] : edges) {
    add_dependency(graph, producer, 0, consumer);
  }
  return graph;
}

OpGraph draw_graph(OpId num_ops, std::uint64_t max_inputs, const Below& below) {
  OpGraph graph = graph_of(num_ops, {});
  for (OpId op = 1; op < num_ops; ++op) {
    const auto inputs = below(max_inputs + 1);
    for (std::uint64_t i = 0; i < inputs; ++i) {
      const auto producer = static_cast<OpId>(below(static_cast<std::uint64_t>(op)));
      add_dependency(graph, producer, below(8) == 0 ? Dependency::kControl : 0, op);
    }
    Op& properties = graph[static_cast<std::size_t>(op)];
    properties.bytes_read = static_cast<std::int64_t>(below(1000));
    properties.outputs[0].bytes = static_cast<std::int64_t>(below(1000));
    properties.scope = "s" + std::to_string(below(3)) + "/t" + std::to_string(below(3));
    properties.phase = op < num_ops / 2 ? Phase::kForward : Phase::kBackward;
    if (below(10) == 0) {
      graph[static_cast<std::size_t>(op - 1)].colocation = "label" + std::to_string(op);
      properties.colocation = "label" + std::to_string(op);
    }
  }
  return graph;
}

OpGraph training_graph_of(OpId num_ops, const Below& below) {
  constexpr OpId kWidth = 100;
  OpGraph graph = graph_of(num_ops, {});
  for (OpId op = 0; op < num_ops; ++op) {
    Op& properties = graph[static_cast<std::size_t>(op)];
    const bool forward = op < num_ops / 2;
    const OpId mirror = num_ops - 1 - op;
    const OpId layer = (forward ? op : mirror) / kWidth;
    properties.phase = forward ? Phase::kForward : Phase::kBackward;
    properties.scope = "block_" + std::to_string(layer / 10) + "/layer_" + std::to_string(layer);
    properties.bytes_read = static_cast<std::int64_t>(100 + below(1000));
    properties.outputs[0].bytes = static_cast<std::int64_t>(below(1000));
    if (op >= kWidth) {
      const OpId layer_above = op / kWidth * kWidth - kWidth;
      for (auto inputs = 1 + below(3); inputs > 0; --inputs) {
        add_dependency(graph, layer_above + static_cast<OpId>(below(kWidth)), 0, op);
      }
    }
    if (!forward) {
      add_dependency(graph, mirror, 0, op);
    }
  }
  return graph;
}

std::vector<GroupId> groups_of(const Grouping& grouping) {
  std::vector<GroupId> groups;
  for (OpId op = 0; op < grouping.num_ops(); ++op) {
    groups.push_back(grouping.group_of(op));
  }
  return groups;
}

std::string fault_of(const OpGraph& graph, const Grouping& grouping) {
  if (grouping.num_ops() != num_ops(graph)) {
    return "it is of another graph";
  }
  std::vector<int> seen(static_cast<std::size_t>(grouping.num_ops()), 0);
  for (GroupId group = 0; group < grouping.size(); ++group) {
    if (grouping.members(group).empty() || !std::ranges::is_sorted(grouping.members(group))) {
      return "group " + std::to_string(group) + " is empty or not sorted";
    }
    for (const OpId op : grouping.members(group)) {
      ++seen[static_cast<std::size_t>(op)];
      if (grouping.group_of(op) != group) {
        return "op" + std::to_string(op) + " is listed in a group that it is not of";
      }
    }
  }
  if (std::ranges::count(seen, 1) != grouping.num_ops()) {
    return "an op is in no group or in two";
  }
  // Ascending along every edge: topologically numbered, and therefore without a cycle.
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    const auto producer = static_cast<OpId>(boost::source(edge, graph));
    const auto consumer = static_cast<OpId>(boost::target(edge, graph));
    if (grouping.group_of(producer) > grouping.group_of(consumer)) {
      return "the group of op" + std::to_string(consumer) + " comes before that of op" +
             std::to_string(producer);
    }
  }
  std::map<std::string, GroupId> group_of_label;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const std::string& label = graph[static_cast<std::size_t>(op)].colocation;
    const GroupId group = grouping.group_of(op);
    if (!label.empty() && group_of_label.emplace(label, group).first->second != group) {
      return label + " is in two groups";
    }
  }
  return "";
}

GroupId count_parts(const OpGraph& graph) {
  std::vector<OpId> part(boost::num_vertices(graph));
  std::iota(part.begin(), part.end(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
      auto& a = part[boost::source(edge, graph)];
      auto& b = part[boost::target(edge, graph)];
      if (a != b) {
        a = b = std::min(a, b);
        changed = true;
      }
    }
  }
  std::ranges::sort(part);
  part.erase(std::unique(part.begin(), part.end()), part.end());
  return static_cast<GroupId>(part.size());
}

}  // namespace emplace::test

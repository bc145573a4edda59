#include "grouping/grouping_strategies.hpp"

#include <emplace/graphs/partition_graph.hpp>

#include <map>
#include <utility>

namespace emplace {

Grouping group_by_metis(const OpGraph& graph, GroupId target) {
  std::vector<GroupId> colocated = colocated_groups(graph);
  std::vector<double> work;
  for (const GroupContent& content : contents_of(graph, colocated)) {
    work.push_back(static_cast<double>(content.work));
  }
  const GroupEdges edges = edges_between(graph, colocated);
  std::map<std::pair<GroupId, GroupId>, double> bytes;  // one direction only, for groups are a DAG
  for (std::size_t edge = 0; edge < edges.ends.size(); ++edge) {
    bytes[edges.ends[edge]] += static_cast<double>(edges.bytes[edge]);
  }
  std::vector<PartitionEdge> weighted;
  for (const auto& [ends, sum] : bytes) {
    weighted.push_back({ends.first, ends.second, sum});
  }
  const std::vector<double> shares(static_cast<std::size_t>(target), 1.0 / target);
  const std::vector<std::int32_t> part_of = metis_parts(partition_graph(work, weighted), shares);
  return in_topological_order(graph, groups_of_parts(graph, std::move(colocated), part_of, target,
                                                     by_bytes_and_balance(true)));
}

}  // namespace emplace

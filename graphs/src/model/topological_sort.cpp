#include "topological_sort.hpp"

#include <emplace/base/id_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>

namespace emplace {
namespace {

// Every node that Kahn's algorithm leaves has a predecessor that it leaves too, so walking back
// from any of them comes to a node for the second time.
template <typename Node>
std::vector<Node> find_cycle(const IdVector<Node, std::int32_t>& missing, EdgeList<Node> edges) {
  IdVector<Node, Node> predecessor(missing.size(), -1);
  for (const auto& [from, to] : edges) {
    if (missing[from] > 0 && missing[to] > 0 && predecessor[to] < 0) {
      predecessor[to] = from;
    }
  }
  const auto first = std::find_if(missing.begin(), missing.end(), [](auto n) { return n > 0; });
  auto node = static_cast<Node>(first - missing.begin());
  IdVector<Node, bool> seen(missing.size(), false);
  while (!seen[node]) {
    seen[node] = true;
    node = predecessor[node];
  }
  std::vector<Node> cycle{node};
  for (auto at = predecessor[node]; at != node; at = predecessor[at]) {
    cycle.push_back(at);
  }
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

}  // namespace

template <typename Node>
TopologicalSort<Node> sort_topologically(Node num_nodes,
                                         std::type_identity_t<EdgeList<Node>> edges) {
  IdVector<Node, std::int32_t> missing(index_of(num_nodes),
                                       0);  // predecessors not yet in the order
  IdVector<Node, std::size_t> offset(index_of(num_nodes) + 1, 0);
  for (const auto& [from, to] : edges) {
    ++offset[from + 1];
    ++missing[to];
  }
  for (std::size_t node = 1; node < offset.size(); ++node) {
    offset[node] += offset[node - 1];
  }
  std::vector<Node> successors(edges.size());
  auto next = offset;
  for (const auto& [from, to] : edges) {
    successors[next[from]++] = to;
  }

  std::priority_queue<Node, std::vector<Node>, std::greater<>> ready;
  for (Node node = 0; node < num_nodes; ++node) {
    if (missing[node] == 0) {
      ready.push(node);
    }
  }
  TopologicalSort<Node> result;
  result.order.reserve(index_of(num_nodes));
  while (!ready.empty()) {
    const auto node = ready.top();
    ready.pop();
    result.order.push_back(node);
    for (auto at = offset[node]; at < offset[node + 1]; ++at) {
      if (--missing[successors[at]] == 0) {
        ready.push(successors[at]);
      }
    }
  }
  if (result.order.size() < index_of(num_nodes)) {
    result.cycle = find_cycle(missing, edges);
  }
  return result;
}

template TopologicalSort<OpId> sort_topologically(OpId, EdgeList<OpId>);
template TopologicalSort<GroupId> sort_topologically(GroupId, EdgeList<GroupId>);

}  // namespace emplace

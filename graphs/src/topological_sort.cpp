#include "topological_sort.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>

namespace emplace {
namespace {

using Edges = std::span<const std::pair<std::int32_t, std::int32_t>>;

std::size_t index(std::int32_t node) { return static_cast<std::size_t>(node); }

// Every node that Kahn's algorithm leaves has a predecessor that it leaves too, so walking back
// from any of them comes to a node for the second time.
std::vector<std::int32_t> find_cycle(const std::vector<std::int32_t>& missing, Edges edges) {
  std::vector<std::int32_t> predecessor(missing.size(), -1);
  for (const auto& [from, to] : edges) {
    if (missing[index(from)] > 0 && missing[index(to)] > 0 && predecessor[index(to)] < 0) {
      predecessor[index(to)] = from;
    }
  }
  const auto first = std::find_if(missing.begin(), missing.end(), [](auto n) { return n > 0; });
  auto node = static_cast<std::int32_t>(first - missing.begin());
  std::vector<bool> seen(missing.size(), false);
  while (!seen[index(node)]) {
    seen[index(node)] = true;
    node = predecessor[index(node)];
  }
  std::vector<std::int32_t> cycle{node};
  for (auto at = predecessor[index(node)]; at != node; at = predecessor[index(at)]) {
    cycle.push_back(at);
  }
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

}  // namespace

TopologicalSort sort_topologically(std::int32_t num_nodes, Edges edges) {
  std::vector<std::int32_t> missing(index(num_nodes), 0);  // predecessors not yet in the order
  std::vector<std::size_t> offset(index(num_nodes) + 1, 0);
  for (const auto& [from, to] : edges) {
    ++offset[index(from) + 1];
    ++missing[index(to)];
  }
  for (std::size_t node = 1; node < offset.size(); ++node) {
    offset[node] += offset[node - 1];
  }
  std::vector<std::int32_t> successors(edges.size());
  auto next = offset;
  for (const auto& [from, to] : edges) {
    successors[next[index(from)]++] = to;
  }

  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::int32_t node = 0; node < num_nodes; ++node) {
    if (missing[index(node)] == 0) {
      ready.push(node);
    }
  }
  TopologicalSort result;
  result.order.reserve(index(num_nodes));
  while (!ready.empty()) {
    const auto node = ready.top();
    ready.pop();
    result.order.push_back(node);
    for (auto at = offset[index(node)]; at < offset[index(node) + 1]; ++at) {
      if (--missing[index(successors[at])] == 0) {
        ready.push(successors[at]);
      }
    }
  }
  if (result.order.size() < index(num_nodes)) {
    result.cycle = find_cycle(missing, edges);
  }
  return result;
}

}  // namespace emplace

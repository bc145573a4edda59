#pragma once

// Random steps with ops whose results need no memory of their own: views, and ops that work in
// place.

#include <emplace/graphs/op_graph.hpp>

#include <boost/range/iterator_range.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace emplace::test {

/// Makes about a quarter of the ops that have one output and an input views, and about half of all
/// others ops that may work in place, most with a result as large as one of their inputs.
/// `below(n)` draws a number less than n.
inline void reuse_memory(OpGraph& graph, const std::function<std::uint64_t(std::uint64_t)>& below) {
  for (const OpId id : topological_order(graph)) {
    const auto vertex = static_cast<std::size_t>(id);
    Op& op = graph[vertex];
    std::vector<std::int64_t> input_bytes;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(vertex, graph))) {
      if (graph[edge].output != Dependency::kControl) {
        const auto& outputs = graph[boost::source(edge, graph)].outputs;
        input_bytes.push_back(outputs[static_cast<std::size_t>(graph[edge].output)].bytes);
      }
    }
    if (input_bytes.empty() || op.outputs.empty()) {
      continue;
    }
    if (op.outputs.size() == 1 && below(4) == 0) {
      op.kind = "reshape";
      op.outputs[0].bytes = input_bytes[0];
    } else if (below(2) == 0) {
      op.kind = "add";
      if (below(4) != 0) {
        op.outputs[0].bytes = input_bytes[below(input_bytes.size())];
      }
    }
  }
}

}  // namespace emplace::test

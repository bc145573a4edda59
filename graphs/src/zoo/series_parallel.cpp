// A random series-parallel graph. It begins as one edge from a source to a sink and grows by one
// task at a time, at an edge drawn uniformly: with probability `parallel` a path of one new task
// beside the edge, else a new task on it. So there are as many edges as one, and one for each task
// on an edge, and two for each task beside one.

#include "model/topological_sort.hpp"
#include "task_graph.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace emplace::series_parallel {
namespace {

using Edges = std::vector<std::pair<OpId, OpId>>;

// Node 0 is the source, node 1 the sink.
Edges grow(OpId tasks, double parallel, RandomStream& random) {
  Edges edges{{0, 1}};
  for (OpId task = 2; task < tasks; ++task) {
    const std::size_t at = random.below(edges.size());
    const auto [from, to] = edges[at];
    if (random.uniform() < parallel) {
      edges.emplace_back(from, task);
    } else {
      edges[at] = {from, task};
    }
    edges.emplace_back(task, to);
  }
  return edges;
}

OpGraph build(const Params& params) {
  const auto tasks = static_cast<OpId>(params.get<std::int64_t>("tasks"));
  const auto spread = params.get<double>("spread");
  RandomStream random(
      stable_hash("series-parallel", static_cast<std::uint64_t>(params.get<std::int64_t>("seed"))));
  TaskGraph graph("series-parallel", "random series-parallel graph", static_cast<double>(tasks));
  const Edges edges = grow(tasks, params.get<double>("parallel"), random);
  IdVector<OpId, std::vector<OpId>> readers(index_of(tasks));
  for (const auto& [from, to] : edges) {
    readers[from].push_back(to);
  }
  // Tasks in topological order; the scope is the number of tasks before one on the longest path.
  IdVector<OpId, std::vector<Tensor>> inputs(readers.size());
  IdVector<OpId, std::int64_t> depth(readers.size(), 0);
  for (const OpId node : sort_topologically(tasks, edges).order) {
    const double work = vary(random, spread);
    const Tensor result =
        graph.task(fmt::format("depth_{}", depth[node]), fmt::format("task_{}", node), work,
                   vary(random, spread), inputs[node]);
    for (const OpId reader : readers[node]) {
      inputs[reader].push_back(result);
      depth[reader] = std::max(depth[reader], depth[node] + 1);
    }
  }
  return std::move(graph).finish(params);
}

const GraphRegistration kRegistration({
    .name = "series-parallel",
    .summary = "random task graph of paths in series and in parallel",
    .reference = "Valdes, Tarjan, Lawler, SIAM J. Computing 1982 (the class)",
    .parameters = task_parameters(
        {whole_number("tasks", 100, 2, kMaxTasks, "tasks, source and sink included"),
         {.name = "parallel",
          .default_value = 0.5,
          .min = 0,
          .max = 1,
          .summary = "probability that a task goes parallel to an edge, not on it"},
         spread_parameter(),
         seed_parameter()}),
    .build = build,
});

}  // namespace
}  // namespace emplace::series_parallel

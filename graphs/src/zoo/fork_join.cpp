// Stages that fork and join: a task hands a part to each of `width` others, and one task takes what
// they made and starts the next stage. Tasks: stages * (width + 1) + 1; edges: 2 * stages * width.

#include "task_graph.hpp"

#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::fork_join {
namespace {

OpGraph build(const Params& params) {
  const auto width = params.get<std::int64_t>("width");
  const auto stages = params.get<std::int64_t>("stages");
  TaskGraph graph("fork-join", "bulk-synchronous stages",
                  static_cast<double>(stages) * (static_cast<double>(width) + 1) + 1);
  Tensor fork = graph.task("stage_0", "fork", 1, 1, {});
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::string scope = fmt::format("stage_{}", stage);
    std::vector<Tensor> results;
    for (std::int64_t i = 0; i < width; ++i) {
      const Tensor part = i == 0 ? fork : graph.another_result(fork, 1);
      results.push_back(graph.task(scope, fmt::format("task_{}", i), 1, 1, {part}));
    }
    fork = graph.task(scope, "join", 1, 1, results);
  }
  return std::move(graph).finish(params);
}

const GraphRegistration kRegistration({
    .name = "fork-join",
    .summary = "stages of tasks side by side, with one task between two stages",
    .reference = "bulk-synchronous stages (Valiant 1990)",
    .parameters = task_parameters({whole_number("width", 8, 1, 1'000'000, "tasks side by side"),
                                   whole_number("stages", 10, 1, 1'000'000,
                                                "stages one after another")}),
    .build = build,
});

}  // namespace
}  // namespace emplace::fork_join

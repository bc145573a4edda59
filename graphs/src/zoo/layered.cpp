// Random tasks in layers, after the generator of Topcuoglu, Hariri and Wu (TPDS 2002): sqrt(tasks)
// / shape layers (rounded) of random width; a task beyond the first layer reads between 1 and
// 2 * degree - 1 tasks of the layer before, `degree` on average where that layer has as many.

#include "task_graph.hpp"

#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace emplace::layered_model {
namespace {

// Each layer has one task, and the others are thrown among the layers.
std::vector<std::int64_t> draw_widths(std::int64_t tasks, double shape, RandomStream& random) {
  const auto layers = std::clamp<std::int64_t>(
      std::llround(std::sqrt(static_cast<double>(tasks)) / shape), 1, tasks);
  std::vector<std::int64_t> widths(static_cast<std::size_t>(layers), 1);
  for (std::int64_t i = layers; i < tasks; ++i) {
    ++widths[random.below(static_cast<std::uint64_t>(layers))];
  }
  return widths;
}

OpGraph build(const Params& params) {
  const auto tasks = params.get<std::int64_t>("tasks");
  const auto degree = static_cast<std::uint64_t>(params.get<std::int64_t>("degree"));
  const auto spread = params.get<double>("spread");
  RandomStream random(
      stable_hash("layered", static_cast<std::uint64_t>(params.get<std::int64_t>("seed"))));
  TaskGraph graph("layered", "Topcuoglu et al. 2002", static_cast<double>(tasks));
  std::vector<Tensor> before;
  std::int64_t layer = 0;
  for (const auto width : draw_widths(tasks, params.get<double>("shape"), random)) {
    const std::string scope = fmt::format("layer_{}", layer++);
    std::vector<Tensor> results;
    for (std::int64_t i = 0; i < width; ++i) {
      std::size_t inputs = 0;
      if (!before.empty()) {
        inputs = std::min<std::size_t>(1 + random.below(2 * degree - 1), before.size());
      }
      // The first steps of a shuffle: distinct tasks, however few or many are left over.
      for (std::size_t k = 0; k < inputs; ++k) {
        std::swap(before[k], before[k + random.below(before.size() - k)]);
      }
      const double work = vary(random, spread);
      const double volume = vary(random, spread);
      results.push_back(graph.task(scope, fmt::format("task_{}", i), work, volume,
                                   std::span(before).first(inputs)));
    }
    before = std::move(results);
  }
  return std::move(graph).finish(params);
}

const GraphRegistration kRegistration({
    .name = "layered",
    .summary = "random tasks in layers of random width",
    .reference = "Topcuoglu, Hariri, Wu, TPDS 2002, 10.1109/71.993206",
    .parameters =
        task_parameters({whole_number("tasks", 100, 1, kMaxTasks, "tasks in all layers together"),
                         {.name = "shape",
                          .default_value = 1.0,
                          .min = 0.001,
                          .max = 1000,
                          .summary = "width over depth: layers are sqrt(tasks) / shape"},
                         whole_number("degree", 3, 1, 1000, "tasks that a task reads, on average"),
                         spread_parameter(),
                         seed_parameter()}),
    .build = build,
});

}  // namespace
}  // namespace emplace::layered_model

// Complete trees. In an in-tree every task but the last hands its result to one other, as in a
// reduction; an out-tree is the same with all edges turned round, as in a divide phase. A tree of
// `levels` levels in which `arity` tasks meet has (arity^levels - 1) / (arity - 1) tasks and one
// edge less.

#include "task_graph.hpp"

#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace emplace::trees {
namespace {

struct Shape {
  std::int64_t arity;
  std::int64_t levels;
};

Shape shape_of(const Params& params) {
  return {params.get<std::int64_t>("arity"), params.get<std::int64_t>("levels")};
}

// How many tasks a level has; it may exceed any integer.
double width(const Shape& shape, std::int64_t level) {
  return std::pow(static_cast<double>(shape.arity), static_cast<double>(level));
}

TaskGraph start(const std::string& name, const Shape& shape) {
  double tasks = 0;
  for (std::int64_t level = 0; level < shape.levels; ++level) {
    tasks += width(shape, level);
  }
  return {name, "complete tree", tasks};
}

std::string level_scope(std::int64_t level) { return fmt::format("level_{}", level); }

std::string task_name(std::size_t i) { return fmt::format("task_{}", i); }

OpGraph build_in_tree(const Params& params) {
  const Shape shape = shape_of(params);
  TaskGraph graph = start("in-tree", shape);
  const auto arity = static_cast<std::size_t>(shape.arity);
  std::vector<Tensor> above;
  for (std::int64_t level = shape.levels - 1; level >= 0; --level) {
    const auto tasks = static_cast<std::size_t>(width(shape, level));
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < tasks; ++i) {
      const auto inputs =
          above.empty() ? std::span<Tensor>() : std::span(above).subspan(i * arity, arity);
      results.push_back(graph.task(level_scope(level), task_name(i), 1, 1, inputs));
    }
    above = std::move(results);
  }
  return std::move(graph).finish(params);
}

OpGraph build_out_tree(const Params& params) {
  const Shape shape = shape_of(params);
  TaskGraph graph = start("out-tree", shape);
  std::vector<Tensor> above;
  for (std::int64_t level = 0; level < shape.levels; ++level) {
    const auto tasks = static_cast<std::size_t>(width(shape, level));
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < tasks; ++i) {
      const Tensor result = graph.task(level_scope(level), task_name(i), 1, 1, {});
      if (level > 0) {
        // Each child has a result of its own, or the whole tree would be a broadcast.
        const std::size_t parent = i / static_cast<std::size_t>(shape.arity);
        const bool first = i % static_cast<std::size_t>(shape.arity) == 0;
        graph.read(result, first ? above[parent] : graph.another_result(above[parent], 1));
      }
      results.push_back(result);
    }
    above = std::move(results);
  }
  return std::move(graph).finish(params);
}

std::vector<ParamSpec> parameters() {
  return task_parameters({whole_number("arity", 2, 1, 1'000'000, "tasks that meet in one"),
                          whole_number("levels", 7, 1, 1'000'000, "tasks on the longest path")});
}

const GraphRegistration kInTree({
    .name = "in-tree",
    .summary = "complete tree of tasks whose results meet in one, as in a reduction",
    .reference = "complete tree",
    .parameters = parameters(),
    .build = build_in_tree,
});

const GraphRegistration kOutTree({
    .name = "out-tree",
    .summary = "complete tree of tasks that hand out parts, as in divide and conquer",
    .reference = "complete tree",
    .parameters = parameters(),
    .build = build_out_tree,
});

}  // namespace
}  // namespace emplace::trees

#pragma once

// An op graph as Python sees it: what emplace.from_torch() and emplace.load_graph() return.

#include "arrays.hpp"

#include <emplace/graphs/op_graph.hpp>

#include <memory>

namespace emplace::python {

/// The class emplace.Graph.
struct PythonGraph {
  std::shared_ptr<const OpGraph> graph;
};

/// Adds the class Graph and what makes graphs to the module.
void bind_graph(py::module_& module);

}  // namespace emplace::python

#pragma once

// An op graph as Python sees it: what emplace.load() returns.

#include "arrays.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <memory>

namespace emplace::python {

/// The class emplace.Graph.
struct PythonGraph {
  std::shared_ptr<const OpGraph> graph;
};

/// Adds properties to a class that list the names, kinds, scopes and phases of the ops of
/// `graph_of(self)`.
template <typename Class, typename GraphOf>
void def_ops(Class& bound, const GraphOf& graph_of) {
  const auto def = [&](const char* name, const auto& read) {
    bound.def_property_readonly(name, [graph_of, read](const typename Class::type& self) {
      const OpGraph& graph = graph_of(self);
      py::list list;
      for (OpId op = 0; op < num_ops(graph); ++op) {
        list.append(read(graph[index_of(op)]));
      }
      return list;
    });
  };
  def("names", [](const Op& op) { return op.name; });
  def("kinds", [](const Op& op) { return op.kind; });
  def("scopes", [](const Op& op) { return op.scope; });
  def("phases", [](const Op& op) { return to_string(op.phase); });
}

/// Hands what the reader of the graph's file warns of to Python's module `warnings`.
void pass_on_warnings(const OpGraph& graph);

/// Adds the class Graph and what makes graphs to the module.
void bind_graph(py::module_& module);

}  // namespace emplace::python

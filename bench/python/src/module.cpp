// The module emplace._core, on which the package emplace stands.

#include "graph.hpp"
#include "problem.hpp"
#include "python_agent.hpp"
#include "runs.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/bench/manifest.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/profiles/cluster.hpp>

#include <pybind11/stl.h>

#include <exception>

namespace emplace::python {
namespace {

const char* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "UsageError";
    case ErrorCode::kIo:
      return "IoError";
    case ErrorCode::kFormat:
      return "FormatError";
    case ErrorCode::kUnknownName:
      return "UnknownNameError";
    case ErrorCode::kUnsupported:
      return "UnsupportedError";
  }
  return "Error";
}

void raise(const char* name, const char* message) {
  PyErr_SetString(py::object(py::module_::import("emplace._errors").attr(name)).ptr(), message);
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) {
      std::rethrow_exception(thrown);
    }
  } catch (const Error& error) {
    raise(class_of(error.code()), error.what());
  } catch (const InternalError& error) {
    raise("InternalError", error.what());
  }
}

}  // namespace
}  // namespace emplace::python

PYBIND11_MODULE(_core, module) {
  using namespace emplace;
  pybind11::register_exception_translator(python::translate);
  python::bind_graph(module);
  python::bind_problem(module);
  python::bind_agents(module);
  python::bind_runs(module);
  module.def("version", [] { return bench::build_info().version; });
  module.def("agents", [] { return agents::AgentRegistry::global().names(); });
  module.def("graphs", [] { return GraphCatalog::global().names(); });
  module.def("clusters", [] { return cluster_names(); });
  module.def("suites", [] { return bench::suite_names(); });
}

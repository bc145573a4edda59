// The module emplace._core, on which the package emplace stands.

#include "calibration.hpp"
#include "cluster.hpp"
#include "graph.hpp"
#include "problem.hpp"
#include "python_agent.hpp"
#include "runs.hpp"
#include "training.hpp"

#include <emplace/agents/plugin_loader.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/manifest.hpp>
#include <emplace/bench/name_kinds.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

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

// NOLINTNEXTLINE(performance-unnecessary-value-param): the type that pybind11 takes
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

// A plug-in has no emplace of its own: it takes this module's, whose symbols Python keeps to
// itself.
void load_plugin(const std::filesystem::path& path) {
  Dl_info module{};
  if (::dladdr(reinterpret_cast<const void*>(&load_plugin), &module) == 0 ||
      ::dlopen(module.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) == nullptr) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("plug-in {}: Python cannot show it emplace", excerpt(path.native())));
  }
  agents::load_plugin(path);
}

// Sets the docstring of a function of this module, which Python itself cannot. As pybind11 does
// when it adds an overload: it frees the text with the function.
void set_docstring(const py::function& function, const std::string& text) {
  const py::handle bare = py::detail::get_function(function);
  if (PyCFunction_Check(bare.ptr()) == 0 ||
      std::string(py::str(bare.attr("__module__"))) != "emplace._core") {
    throw py::type_error("expected a function of emplace._core");
  }
  const char*& docstring = reinterpret_cast<PyCFunctionObject*>(bare.ptr())->m_ml->ml_doc;
  std::free(const_cast<char*>(docstring));
  docstring = ::strdup(text.c_str());
}

}  // namespace
}  // namespace emplace::python

PYBIND11_MODULE(_core, module) {
  using namespace emplace;  // NOLINT(google-build-using-namespace): the macro stands outside
  pybind11::register_exception_translator(python::translate);
  bench::tell_name_kinds();
  python::bind_graph(module);
  python::bind_cluster(module);
  python::bind_calibration(module);
  python::bind_problem(module);
  python::bind_agents(module);
  python::bind_runs(module);
  python::bind_training(module);
  module.def("version", [] { return bench::build_info().version; });
  module.def("agents", [] { return agents::AgentRegistry::global().names(); });
  module.def("load_plugin", &python::load_plugin, pybind11::arg("path"));
  module.def("set_docstring", &python::set_docstring);
  module.def("graphs", [] { return GraphCatalog::global().names(); });
  module.def("clusters", [] { return cluster_names(); });
  module.def("suites", [] { return bench::suite_names(); });
}

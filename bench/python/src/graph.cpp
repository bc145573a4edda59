#include "graph.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/graph_json.hpp>
#include <emplace/graphs/uncounted_work.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>

namespace emplace::python {
namespace {

using Self = const PythonGraph&;

std::int64_t forward_flops(const OpGraph& graph) {
  std::int64_t flops = 0;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    flops += graph[index_of(op)].phase == Phase::kForward ? graph[index_of(op)].flops : 0;
  }
  return flops;
}

py::array op_flops(const OpGraph& graph) {
  py::array_t<std::int64_t> array(length(num_ops(graph)));
  for (OpId op = 0; op < num_ops(graph); ++op) {
    array.mutable_data()[op] = graph[index_of(op)].flops;
  }
  return read_only(std::move(array));
}

PythonGraph share(const OpGraph& graph) {
  pass_on_warnings(graph);
  return {std::make_shared<const OpGraph>(graph)};
}

OpGraph without_gil(const std::function<OpGraph()>& read) {
  const py::gil_scoped_release released;
  return read();
}

PythonGraph load(const std::filesystem::path& name_or_path) {
  return share(without_gil([&] { return load_graph(name_or_path.native()); }));
}

PythonGraph read(const std::string& text, const std::string& format, const std::string& source) {
  return share(
      without_gil([&] { return GraphFormats::global().read(Spec::parse(format), text, source); }));
}

std::string write(Self self, const std::string& format) {
  const py::gil_scoped_release released;
  return GraphFormats::global().write(Spec::parse(format), *self.graph);
}

}  // namespace

void pass_on_warnings(const OpGraph& graph) {
  for (const std::string& warning : graph[boost::graph_bundle].warnings) {
    // It may have the name of a file that is not UTF-8.
    const auto text = py::reinterpret_steal<py::str>(
        PyUnicode_DecodeFSDefaultAndSize(warning.data(), py::ssize_t(warning.size())));
    py::module_::import("warnings").attr("warn")(text);
  }
}

void bind_graph(py::module_& module) {
  py::class_<PythonGraph> bound(module, "Graph");
  def_ops(bound, [](Self self) -> const OpGraph& { return *self.graph; });
  bound
      .def_property_readonly("name",
                             [](Self self) { return (*self.graph)[boost::graph_bundle].name; })
      .def_property_readonly("source",
                             [](Self self) { return (*self.graph)[boost::graph_bundle].source; })
      .def_property_readonly("num_ops", [](Self self) { return num_ops(*self.graph); })
      .def_property_readonly("num_edges", [](Self self) { return boost::num_edges(*self.graph); })
      .def_property_readonly("flops", [](Self self) { return totals(*self.graph).flops; })
      .def_property_readonly("forward_flops", [](Self self) { return forward_flops(*self.graph); })
      .def_property_readonly("parameters", [](Self self) { return totals(*self.graph).parameters; })
      .def_property_readonly("persistent_bytes",
                             [](Self self) { return totals(*self.graph).persistent_bytes; })
      .def_property_readonly("uncounted", [](Self self) { return uncounted_kinds(*self.graph); })
      .def_property_readonly("op_flops", [](Self self) { return op_flops(*self.graph); })
      .def(
          "save",
          [](Self self, const std::filesystem::path& path) {
            const py::gil_scoped_release released;
            write_text_file(path, write_graph_json(*self.graph));
          },
          py::arg("path"))
      .def("__repr__", [](Self self) {
        return fmt::format("<emplace.Graph {}, {} ops>", (*self.graph)[boost::graph_bundle].name,
                           num_ops(*self.graph));
      });

  module.def("load_graph", load, py::arg("name_or_path"));
  module.def("read_graph", read, py::arg("text"), py::arg("format"), py::arg("source"));
  module.def("write_graph", write, py::arg("graph"), py::arg("format"));
}

}  // namespace emplace::python

#include "calibration.hpp"

#include "graph.hpp"
#include "runs.hpp"

#include <emplace/calibrate/calibration.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/chrono.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace emplace::python {
namespace {

std::vector<calibrate::OpSite> sites_of(const std::vector<PythonGraph>& graphs) {
  std::vector<OpGraph> copies;
  std::ranges::transform(graphs, std::back_inserter(copies),
                         [](const PythonGraph& each) { return *each.graph; });
  return calibrate::distinct_sites(copies);
}

py::dict calibrated_cluster(const std::vector<PythonGraph>& graphs, const std::string& devices,
                            const std::string& samples, const std::string& name, int runs,
                            std::int64_t max_copy, bool full_precision) {
  calibrate::CalibrationOptions options{
      .name = name, .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))};
  options.samples = calibrate::parse_sample_table(samples, "samples");
  options.sampling.runs = runs;
  options.sampling.max_copy_bytes = max_copy;
  const std::vector<calibrate::OpSite> sites = sites_of(graphs);
  calibrate::CalibratedMachine machine;
  std::vector<std::string> warnings;
  run_interruptibly([&](const std::atomic<bool>& stop) {
    options.sampling.stop = &stop;
    machine = calibrate::calibrate_machine(
        {.devices = devices, .full_precision = full_precision}, sites, options,
        [](const calibrate::ProgressNote&) {},
        [&](const std::string& warning) { warnings.push_back(warning); });
  });
  return py::dict(py::arg("cluster") = write_cluster_json(machine.cluster),
                  py::arg("left_out") = machine.left_out, py::arg("warnings") = warnings);
}

}  // namespace

void bind_calibration(py::module_& module) {
  module.def(
      "op_sites",
      [](const std::vector<PythonGraph>& graphs) {
        return calibrate::sites_json(sites_of(graphs));
      },
      py::arg("graphs"));
  module.def("calibrated_cluster", calibrated_cluster, py::arg("graphs"), py::arg("devices"),
             py::arg("samples"), py::arg("name"), py::arg("runs"), py::arg("max_copy"),
             py::arg("full_precision"));
}

}  // namespace emplace::python

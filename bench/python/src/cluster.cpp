#include "cluster.hpp"

#include "arrays.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/text_file.hpp>

#include <fmt/format.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::python {
namespace {

using ClusterSelf = const PythonCluster&;

PythonCluster load_by_name(const std::filesystem::path& name_or_path) {
  const std::string& text = name_or_path.native();
  auto cluster = std::make_shared<const Cluster>(load_cluster(text));
  if (without_cluster_parameters(text) != text) {
    return {std::move(cluster), text};
  }
  return {std::move(cluster), text,
          std::ranges::binary_search(cluster_names(), text)
              ? std::string(shipped_cluster_file(text))
              : read_text_file(text)};
}

PythonCluster read_file(const std::string& text, const std::string& source) {
  auto cluster = std::make_shared<const Cluster>(read_cluster(text, source));
  std::string name = cluster->name;
  return {std::move(cluster), std::move(name), text};
}

std::string file_of(ClusterSelf self) {
  if (!self.file.empty()) {
    return self.file;
  }
  if (self.cluster->granularity > 0) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("cluster {}: a cluster file has no granularity", self.cluster->name));
  }
  return write_cluster_json(*self.cluster);
}

template <typename Read>
py::list of_devices(ClusterSelf self, const Read& read) {
  py::list list;
  for (const Device& device : self.cluster->devices) {
    list.append(read(device));
  }
  return list;
}

py::array capacities_of(ClusterSelf self) {
  std::vector<std::int64_t> bytes;
  for (const Device& device : self.cluster->devices) {
    bytes.push_back(device.memory_limit_bytes > 0
                        ? device.memory_limit_bytes
                        : self.cluster->profiles[device.profile].usable_bytes());
  }
  return read_only(adopt(std::move(bytes)));
}

py::list links_of(ClusterSelf self) {
  py::list list;
  for (const Link& link : self.cluster->topology.links()) {
    py::dict entry;
    entry["name"] = link.name;
    entry["bandwidth_bytes_per_us"] = link.bytes_per_us;
    entry["latency_us"] = link.latency_us;
    entry["sharing"] = to_string(link.sharing);
    list.append(std::move(entry));
  }
  return list;
}

}  // namespace

void bind_cluster(py::module_& module) {
  py::class_<PythonCluster>(module, "Cluster")
      .def_property_readonly("name", [](ClusterSelf self) { return self.cluster->name; })
      .def_property_readonly("summary", [](ClusterSelf self) { return self.cluster->summary; })
      .def_property_readonly(
          "transfer_model",
          [](ClusterSelf self) { return to_string(self.cluster->transfer_model); })
      .def_property_readonly("devices",
                             [](ClusterSelf self) {
                               return of_devices(self,
                                                 [](const Device& device) { return device.name; });
                             })
      .def_property_readonly("kinds",
                             [](ClusterSelf self) {
                               return of_devices(self, [&self](const Device& device) {
                                 return self.cluster->profiles[device.profile].device_class;
                               });
                             })
      .def_property_readonly("placeable_devices",
                             [](ClusterSelf self) {
                               std::vector<std::int32_t> placeable;
                               for (std::size_t at = 0; at < self.cluster->devices.size(); ++at) {
                                 if (self.cluster->devices[at].placeable) {
                                   placeable.push_back(static_cast<std::int32_t>(at));
                                 }
                               }
                               return read_only(adopt(std::move(placeable)));
                             })
      .def_property_readonly("capacities", capacities_of)
      .def_property_readonly("links", links_of)
      .def_property_readonly(
          "document",
          [](ClusterSelf self) { return py::module_::import("json").attr("loads")(file_of(self)); })
      .def(
          "save",
          [](ClusterSelf self, const std::filesystem::path& path) {
            write_text_file(path, file_of(self));
          },
          py::arg("path"))
      .def("__repr__", [](ClusterSelf self) {
        return fmt::format("<emplace.Cluster {}, {} devices>", self.cluster->name,
                           self.cluster->devices.size());
      });

  module.def("load_cluster", load_by_name, py::arg("name_or_path"));
  module.def("read_cluster", read_file, py::arg("text"), py::arg("source"));
}

}  // namespace emplace::python

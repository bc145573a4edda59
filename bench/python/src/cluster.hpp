#pragma once

// A cluster as Python sees it: what emplace.cluster() returns.

#include <emplace/profiles/cluster.hpp>

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

namespace emplace::python {

/// The class emplace.Cluster.
struct PythonCluster {
  std::shared_ptr<const Cluster> cluster;
  std::string named{};  ///< as the user named it: a name or path, with parameters
  std::string file{};   ///< its file as it was read; empty if parameters changed the cluster
};

/// Adds the class Cluster and what makes clusters to the module.
void bind_cluster(pybind11::module_& module);

}  // namespace emplace::python

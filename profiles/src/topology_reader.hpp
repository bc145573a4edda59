#pragma once

// Reads the links and routes of a cluster file (docs/concepts/clusters.md has the rules).

#include <emplace/base/json_cursor.hpp>
#include <emplace/profiles/cluster.hpp>

#include <vector>

namespace emplace {

/// Reads the member "physical" of a cluster file, and from its member "devices", which is read
/// already as `devices`, the copy engines.
Topology read_topology(const JsonCursor& physical, const JsonCursor& devices_json,
                       const std::vector<Device>& devices);

}  // namespace emplace

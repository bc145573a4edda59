#pragma once

// The machines on which a graph is placed: named devices, each of a device profile, and how data
// moves between them.

#include <emplace/graphs/ids.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Holds the constants of the `placeto` transfer model (sim/README.md has its rules).
struct PlacetoModel {
  double gap_after_op_us = 5.7;  ///< a device rests this long after an op
  double gap_after_transfer_us =
      25;                      ///< a device's outgoing channel rests this long after a transfer
  double bytes_per_us = 7600;  ///< speed of a channel
};

/// Names one device of a cluster.
struct Device {
  std::string name{};       ///< for example "gpu:0"
  std::size_t profile = 0;  ///< index into Cluster::profiles
  /// Says whether agents choose this device unasked. A host CPU beside GPUs is there for placements
  /// that name it, such as cpu-only, but is no choice for the others.
  bool placeable = true;
};

/// Describes the devices of one machine or several, and their links.
struct Cluster {
  std::string name{};     ///< kebab-case, stable
  std::string summary{};  ///< one line
  std::vector<DeviceProfile> profiles{};
  std::vector<Device> devices{};
  PlacetoModel placeto{};
  Provenance provenance{};
};

/// Reads a cluster (profiles/schema/cluster.schema.json); `source` names it in errors. A device's
/// "profile" is a whole profile, or the name of one written earlier in the file or of a shipped
/// one.
Cluster read_cluster(std::string_view text, const std::string& source);

/// Returns the names of the shipped clusters, sorted.
std::vector<std::string> cluster_names();

/// Returns the shipped cluster called `name`, or reads the file that it names (anything with a '/'
/// or ending in ".json"). Throws kUnknownName, kIo or kFormat.
Cluster load_cluster(std::string_view name_or_path);

/// Returns the names of the shipped device profiles, sorted.
std::vector<std::string> device_profile_names();

/// Returns the shipped device profile called `name`; throws kUnknownName.
DeviceProfile load_device_profile(std::string_view name);

}  // namespace emplace

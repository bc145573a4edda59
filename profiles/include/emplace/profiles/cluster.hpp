#pragma once

// The machines on which a graph is placed: named devices, each of a device profile, and how data
// moves between them.

#include <emplace/base/ids.hpp>
#include <emplace/profiles/device_profile.hpp>
#include <emplace/profiles/topology.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Which rules a step on a cluster follows (docs/concepts/simulation.md).
enum class TransferModel : std::uint8_t { kPlaceto, kPhysical, kGrappler };

/// The names of the models, in the order of TransferModel.
inline constexpr std::array<std::string_view, 3> kTransferModels = {"placeto", "physical",
                                                                    "grappler"};

/// Returns the name.
inline std::string_view to_string(TransferModel model) {
  return kTransferModels[static_cast<std::size_t>(model)];
}

/// Which of the ready ops a device runs next in the `physical` model: the one that was ready first,
/// or the one with the longest path of costs to the end of the step.
enum class QueueOrder : std::uint8_t { kFifo, kCriticalPath };

/// The names of the orders, in the order of QueueOrder.
inline constexpr std::array<std::string_view, 2> kQueueOrders = {"fifo", "critical-path"};

/// Returns the name.
inline std::string_view to_string(QueueOrder order) {
  return kQueueOrders[static_cast<std::size_t>(order)];
}

/// The constants of the `grappler` transfer model: a serial channel for each ordered pair of
/// devices, which each transfer occupies for `latency_us + bytes / bytes_per_us`.
struct GrapplerModel {
  double latency_us = 0;
  double bytes_per_us = 1;

  bool operator==(const GrapplerModel&) const = default;
};

/// The constants of the `placeto` transfer model (docs/concepts/simulation.md).
struct PlacetoModel {
  double gap_after_op_us = 5.7;  ///< a device pauses this long after an op
  double gap_after_transfer_us =
      25;                      ///< a device's outgoing channel pauses this long after a transfer
  double bytes_per_us = 7600;  ///< speed of a channel

  bool operator==(const PlacetoModel&) const = default;
};

/// The host, which launches the kernels of all devices but CPUs one after the other.
struct Host {
  double launch_us = 0;      ///< for each kernel; 0: launches cost nothing
  std::int32_t threads = 1;  ///< device d is served by thread d mod `threads`

  bool operator==(const Host&) const = default;
};

/// Names one device of a cluster.
struct Device {
  std::string name{};       ///< for example "gpu:0"
  std::size_t profile = 0;  ///< index into Cluster::profiles
  /// Whether agents choose this device by default. A host CPU next to GPUs is available to
  /// placements that name it, such as cpu-only, but not to the others.
  bool placeable = true;
  /// Memory that a step may use, where it is less than the profile's; 0: all of it.
  std::int64_t memory_limit_bytes = 0;

  bool operator==(const Device&) const = default;
};

/// Says that ops run on one device, whether it is placeable or not.
struct Pin {
  std::string pattern{};  ///< of scopes or names of ops, see constraints.hpp
  std::string device{};   ///< name of a device

  bool operator==(const Pin&) const = default;
};

/// Describes the devices of one machine or several, and their links.
struct Cluster {
  std::string name{};     ///< kebab-case, stable
  std::string summary{};  ///< one line
  std::vector<DeviceProfile> profiles{};
  std::vector<Device> devices{};
  TransferModel transfer_model = TransferModel::kPlaceto;
  PlacetoModel placeto{};                      ///< where the model is `placeto`
  GrapplerModel grappler{};                    ///< where the model is `grappler`
  Topology topology{};                         ///< where the model is `physical`
  QueueOrder queue_order = QueueOrder::kFifo;  ///< where the model is `physical`
  Host host{};                                 ///< where the model is `physical`
  MathMode math = MathMode::kFramework;        ///< of ops on float32 tensors
  std::vector<Pin> pins{};                     ///< of the ops of each graph that is placed here
  std::vector<std::string> together{};         ///< patterns; ops that match one share a device
  std::int32_t granularity = 0;  ///< ops share a device whose scopes begin with the same so many
                                 ///< elements; 0: none do
  Provenance provenance{};

  bool operator==(const Cluster&) const = default;
};

/// Reads a cluster (profiles/schema/cluster.schema.json); `source` names it in errors. A device's
/// "profile" is a whole profile, or the name of one written earlier in the file or of a shipped
/// one.
Cluster read_cluster(std::string_view text, const std::string& source);

/// Returns a file from which read_cluster() makes `cluster` (see write_device_profile_json() for
/// the peaks). Profiles are written in full at the first device that has them; requires that each
/// profile has a device, in the order of the devices. Links of a `physical` cluster are written one
/// by one, without ends, and the routes of all pairs. Throws kUnsupported if a name or route is
/// longer than a file may have.
std::string write_cluster_json(const Cluster& cluster);

/// Returns the names of the shipped clusters, sorted.
std::vector<std::string> cluster_names();

/// Returns the shipped cluster called `name`, or reads the file that it names (anything with a '/'
/// or ending in ".json"). Parameters may follow, as in "dgx-a100:math=tf32,framework=false": `math`
/// sets Cluster::math, `launch` and `launch-threads` set Cluster::host, without `framework` all
/// step factors are 1, `set` changes devices and links (what_if.hpp), and `pin`, `together`,
/// `exclude`, `memory` and `granularity` are constraints (constraints.hpp). Throws kUnknownName,
/// kIo, kFormat, or kUsage for wrong parameters.
Cluster load_cluster(std::string_view name_or_path);

/// Returns a name or path as for load_cluster(), without its parameters.
std::string_view without_cluster_parameters(std::string_view name_or_path);

/// Returns the text with which load_cluster() makes the same cluster without step factors.
std::string without_framework(std::string_view name_or_path);

/// Returns the file of the shipped cluster called `name`; throws kUnknownName.
std::string_view shipped_cluster_file(std::string_view name);

/// Returns the names of the shipped device profiles, sorted.
std::vector<std::string> device_profile_names();

/// Returns the shipped device profile called `name`; throws kUnknownName.
DeviceProfile load_device_profile(std::string_view name);

/// Returns the shipped device profile called `name`, or the profiles of the shipped cluster, or
/// those in the profile or cluster file that it names. Throws kUnknownName, kIo or kFormat.
std::vector<DeviceProfile> load_device_profiles(std::string_view name_or_path);

}  // namespace emplace

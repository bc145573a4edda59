#include "cluster_text.hpp"

#include <emplace/base/counted.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

// Devices of one profile that agents may all choose, or none of them, in the order of the file.
struct AlikeDevices {
  std::size_t profile = 0;
  bool placeable = true;
  std::vector<std::string> names{};
};

std::vector<AlikeDevices> alike_devices(const Cluster& cluster) {
  std::vector<AlikeDevices> groups;
  for (const Device& device : cluster.devices) {
    auto found = std::ranges::find_if(groups, [&](const AlikeDevices& group) {
      return group.profile == device.profile && group.placeable == device.placeable;
    });
    if (found == groups.end()) {
      groups.push_back({.profile = device.profile, .placeable = device.placeable});
      found = groups.end() - 1;
    }
    found->names.push_back(device.name);
  }
  return groups;
}

std::string line_of(const AlikeDevices& group, const DeviceProfile& profile) {
  const std::string last = group.names.size() == 1 ? "" : " to " + group.names.back();
  return fmt::format(
      "{} of profile {}, {:.4g} GB{}: {}{}\n", counted(std::ssize(group.names), "device"),
      profile.name, static_cast<double>(profile.memory_bytes) / 1e9,
      group.placeable ? "" : ", for agents that ask for it", group.names.front(), last);
}

// Says how fast data moves between the devices that agents choose: pairs by bandwidth and latency.
std::string routes_text(const Cluster& cluster) {
  std::map<std::pair<double, double>, int, std::greater<>> routes;
  const auto count = std::ssize(cluster.devices);
  for (DeviceId from = 0; from < count; ++from) {
    for (DeviceId to = 0; to < count; ++to) {
      if (from != to && cluster.devices[static_cast<std::size_t>(from)].placeable &&
          cluster.devices[static_cast<std::size_t>(to)].placeable) {
        ++routes[{cluster.topology.bytes_per_us(from, to), -cluster.topology.latency_us(from, to)}];
      }
    }
  }
  std::string text;
  for (const auto& [speed, pairs] : routes) {
    text += fmt::format("{} at {:.4g} GB/s with a latency of {:.4g} us\n", counted(pairs, "route"),
                        speed.first / 1e3, -speed.second);
  }
  return text;
}

std::string transfers_text(const Cluster& cluster) {
  switch (cluster.transfer_model) {
    case TransferModel::kPlaceto:
      return fmt::format(
          "transfer model placeto: a channel moves {:.4g} GB/s; a device rests {} us after an op, "
          "its channel {} us after a transfer\n",
          cluster.placeto.bytes_per_us / 1e3, cluster.placeto.gap_after_op_us,
          cluster.placeto.gap_after_transfer_us);
    case TransferModel::kGrappler:
      return fmt::format(
          "transfer model grappler: each ordered pair of devices has a channel of {:.4g} GB/s, "
          "which a transfer occupies for {} us longer than its bytes take\n",
          cluster.grappler.bytes_per_us / 1e3, cluster.grappler.latency_us);
    case TransferModel::kPhysical:
      return fmt::format(
                 "transfer model physical, over {}; ready ops are served in the order {}; between "
                 "the devices that agents choose:\n",
                 counted(std::ssize(cluster.topology.links()), "link"),
                 to_string(cluster.queue_order)) +
             routes_text(cluster);
  }
  return "";
}

}  // namespace

std::string cluster_text(const Cluster& cluster) {
  std::string text;
  for (const AlikeDevices& group : alike_devices(cluster)) {
    text += line_of(group, cluster.profiles[group.profile]);
  }
  return text + transfers_text(cluster) +
         fmt::format("where the numbers come from ({}): {}. {}", cluster.provenance.kind,
                     cluster.provenance.source, cluster.provenance.notes);
}

}  // namespace emplace::cli

#include "cluster_text.hpp"

#include <emplace/base/counted.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

// Devices of one profile that agents may all choose, or none of them, in the order of the file.
struct AlikeDevices {
  std::size_t profile = 0;
  bool placeable = true;
  std::vector<std::size_t> devices{};
};

std::vector<AlikeDevices> alike_devices(const Cluster& cluster) {
  std::vector<AlikeDevices> groups;
  for (std::size_t at = 0; at < cluster.devices.size(); ++at) {
    const Device& device = cluster.devices[at];
    auto found = std::ranges::find_if(groups, [&](const AlikeDevices& group) {
      return group.profile == device.profile && group.placeable == device.placeable;
    });
    if (found == groups.end()) {
      groups.push_back({.profile = device.profile, .placeable = device.placeable});
      found = groups.end() - 1;
    }
    found->devices.push_back(at);
  }
  return groups;
}

// "gpu:0, gpu:2 to gpu:7": neighbours in the file by their ends.
std::string names_of(const Cluster& cluster, const std::vector<std::size_t>& devices) {
  std::string text;
  for (std::size_t first = 0; first < devices.size();) {
    std::size_t last = first;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) {
      ++last;
    }
    text += (text.empty() ? "" : ", ") + cluster.devices[devices[first]].name;
    text += last > first ? " to " + cluster.devices[devices[last]].name : "";
    first = last + 1;
  }
  return text;
}

std::string line_of(const Cluster& cluster, const AlikeDevices& group) {
  const DeviceProfile& profile = cluster.profiles[group.profile];
  return fmt::format(
      "{} of profile {}, {:.4g} GB{}: {}\n", counted(std::ssize(group.devices), "device"),
      profile.name, static_cast<double>(profile.memory_bytes) / 1e9,
      group.placeable ? "" : ", for agents that ask for it", names_of(cluster, group.devices));
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
    text += line_of(cluster, group);
  }
  return text + transfers_text(cluster) +
         fmt::format("where the numbers come from ({}): {}. {}", cluster.provenance.kind,
                     cluster.provenance.source, cluster.provenance.notes);
}

}  // namespace emplace::cli

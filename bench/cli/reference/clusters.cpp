// clusters.md and profiles.md.

#include "reference/pages.hpp"

#include <emplace/graphs/counted.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace emplace::cli {
namespace {

double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

void add_provenance(MarkdownPage& page, const Provenance& provenance) {
  page.paragraph(fmt::format("*Where the numbers come from* ({}): {} {}", provenance.kind,
                             sentence(provenance.source), plain(provenance.notes)));
}

// Devices of one profile that agents may all choose, or none of them, in the order of the file.
struct DeviceGroup {
  std::size_t profile = 0;
  bool placeable = true;
  std::vector<std::string> names{};
};

std::vector<DeviceGroup> groups_of(const Cluster& cluster) {
  std::vector<DeviceGroup> groups;
  for (const Device& device : cluster.devices) {
    auto found = std::ranges::find_if(groups, [&](const DeviceGroup& group) {
      return group.profile == device.profile && group.placeable == device.placeable;
    });
    if (found == groups.end()) {
      groups.push_back({.profile = device.profile, .placeable = device.placeable});
      found = groups.end() - 1;
    }
    found->names.push_back(code(device.name));
  }
  return groups;
}

std::string names_of(const DeviceGroup& group) {
  return group.names.size() == 1 ? group.names.front()
                                 : fmt::format("{} to {}", group.names.front(), group.names.back());
}

void add_devices(MarkdownPage& page, const Cluster& cluster) {
  for (const DeviceGroup& group : groups_of(cluster)) {
    const DeviceProfile& profile = cluster.profiles[group.profile];
    page.item(fmt::format("{} of profile {}, {:.4g} GB{}: {}",
                          counted(std::ssize(group.names), "device"),
                          link(code(profile.name), "profiles.md" + anchor(profile.name)),
                          gigabytes(profile.memory_bytes),
                          group.placeable ? "" : "; for agents that ask for it", names_of(group)));
  }
}

// Says how fast data moves between the devices that agents choose: pairs by bandwidth and latency.
void add_routes(MarkdownPage& page, const Cluster& cluster) {
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
  for (const auto& [speed, pairs] : routes) {
    page.item(fmt::format("{} at {:.4g} GB/s with a latency of {:.4g} us", counted(pairs, "route"),
                          speed.first / 1e3, -speed.second));
  }
}

void add_transfers(MarkdownPage& page, const Cluster& cluster) {
  switch (cluster.transfer_model) {
    case TransferModel::kPlaceto:
      page.paragraph(
          fmt::format("Transfers follow the model `placeto`: a channel moves {:.4g} GB/s; a device "
                      "pauses {} us after an op, its channel {} us after a transfer.",
                      cluster.placeto.bytes_per_us / 1e3, cluster.placeto.gap_after_op_us,
                      cluster.placeto.gap_after_transfer_us));
      break;
    case TransferModel::kGrappler:
      page.paragraph(
          fmt::format("Transfers follow the model `grappler`: each ordered pair of devices has a "
                      "channel of {:.4g} "
                      "GB/s, which a transfer occupies for {} us longer than its bytes take.",
                      cluster.grappler.bytes_per_us / 1e3, cluster.grappler.latency_us));
      break;
    case TransferModel::kPhysical:
      page.paragraph(fmt::format(
          "Transfers follow the model `physical`, over {}; ready ops are served in the order `{}`. "
          "Between the devices that agents choose:",
          counted(std::ssize(cluster.topology.links()), "link"), to_string(cluster.queue_order)));
      add_routes(page, cluster);
      break;
  }
}

std::string name_of(OpClass op_class) { return std::string(to_string(op_class)); }

// Of a peak that a device may lack.
std::string peak_cell(double flops_per_us) {
  return flops_per_us > 0 ? fmt::format("{:.1f}", flops_per_us / 1e6) : "";
}

void add_rooflines(MarkdownPage& page, const DeviceProfile& profile) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, const Roofline& roofline) {
    rows.push_back({name, fmt::format("{}", roofline.fixed_us),
                    fmt::format("{}", roofline.compute_efficiency),
                    fmt::format("{}", roofline.memory_efficiency)});
  };
  for (std::size_t i = 0; i < kNumOpClasses; ++i) {
    if (const auto& roofline = profile.rooflines[i]) {
      add(name_of(static_cast<OpClass>(i)), *roofline);
    }
  }
  add("any other", profile.fallback);
  page.table({"class of ops", ">t0 [us]", ">of peak FLOP/s", ">of bandwidth"}, rows);
}

}  // namespace

std::string cluster_page() {
  MarkdownPage page("Clusters");
  page.paragraph(
      "A cluster names the devices on which a graph is placed and how data moves between them. Use "
      "one "
      "of these by its name, or the path of a file ([schema](schemas.md#cluster)): "
      "`emplace place GRAPH --cluster NAME`. `emplace list clusters` prints this table.");
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    rows.push_back({link(code(name), anchor(name)), fmt::format("{}", cluster.devices.size()),
                    std::string(to_string(cluster.transfer_model)), plain(cluster.summary)});
  }
  page.table({"cluster", ">devices", "transfers", "what it is"}, rows);
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    page.heading(2, name).paragraph(sentence(cluster.summary));
    add_devices(page, cluster);
    add_transfers(page, cluster);
    add_provenance(page, cluster.provenance);
  }
  return page.text();
}

std::string profile_page() {
  MarkdownPage page("Device profiles");
  page.paragraph(
      "A device profile says what one kind of device can do. The class of an op, or the case of "
      "the class that selects it, decides the fixed time `t0`, the shares of peak and bandwidth "
      "that it reaches, and the form in which they are combined. `emplace profile show NAME` also "
      "shows the cases.");
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : device_profile_names()) {
    const DeviceProfile profile = load_device_profile(name);
    rows.push_back({link(code(name), anchor(name)),
                    fmt::format("{:.3f}", profile.peak_flops_per_us / 1e6),
                    peak_cell(profile.tf32_flops_per_us), peak_cell(profile.float16_flops_per_us),
                    fmt::format("{:.1f}", profile.memory_bytes_per_us / 1e3),
                    fmt::format("{:.1f}", gigabytes(profile.memory_bytes)), profile.provenance.kind,
                    plain(profile.summary)});
  }
  page.table({"profile", ">peak [TFLOP/s]", ">TF32", ">float16", ">bandwidth [GB/s]",
              ">memory [GB]", "numbers", "what it is"},
             rows);
  for (const std::string& name : device_profile_names()) {
    const DeviceProfile profile = load_device_profile(name);
    page.heading(2, name).paragraph(sentence(profile.summary));
    page.paragraph(fmt::format("Device class `{}`; {} at a time, launched in {} us each; {}.",
                               profile.device_class, counted(profile.slots, "op"),
                               profile.launch_us,
                               counted(std::ssize(profile.measured.all()), "measured op")));
    add_rooflines(page, profile);
    add_provenance(page, profile.provenance);
  }
  return page.text();
}

}  // namespace emplace::cli

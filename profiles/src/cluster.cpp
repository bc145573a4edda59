#include "profile_reader.hpp"
#include "topology_reader.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/constraints.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace emplace {
namespace {

constexpr std::size_t kMaxDevices = 1024;
constexpr double kMaxGapUs = 1e9;
constexpr double kMaxLaunchUs = 1e6;
constexpr std::int64_t kMaxHostThreads = 1024;

TransferModel read_transfer_model(const JsonCursor& cluster) {
  const auto model =
      static_cast<TransferModel>(cluster.at("transfer_model").one_of(kTransferModels));
  for (const std::string_view other : kTransferModels) {
    const auto constants = cluster.find(other);
    if (constants && other != to_string(model)) {
      constants->fail(fmt::format("the transfer model is '{0}': expected its member '{0}' instead",
                                  to_string(model)));
    }
  }
  return model;
}

PlacetoModel read_placeto_model(const JsonCursor& json) {
  json.expect_only({"gap_after_op_us", "gap_after_transfer_us", "bytes_per_us"});
  return {.gap_after_op_us = json.at("gap_after_op_us").number(0, kMaxGapUs),
          .gap_after_transfer_us = json.at("gap_after_transfer_us").number(0, kMaxGapUs),
          .bytes_per_us = json.at("bytes_per_us").number(kMinBytesPerUs, kMaxBytesPerUs)};
}

GrapplerModel read_grappler_model(const JsonCursor& json) {
  json.expect_only({"latency_us", "bytes_per_us"});
  return {.latency_us = json.at("latency_us").number(0, kMaxGapUs),
          .bytes_per_us = json.at("bytes_per_us").number(kMinBytesPerUs, kMaxBytesPerUs)};
}

void read_physical_model(const JsonCursor& json, const JsonCursor& devices, Cluster& cluster) {
  json.expect_only({"queue_order", "host", "links", "routes"});
  if (const auto order = json.find("queue_order")) {
    cluster.queue_order = static_cast<QueueOrder>(order->one_of(kQueueOrders));
  }
  if (const auto host = json.find("host")) {
    host->expect_only({"launch_us", "threads"});
    cluster.host.launch_us = host->at("launch_us").number(0, kMaxLaunchUs);
    if (const auto threads = host->find("threads")) {
      cluster.host.threads = static_cast<std::int32_t>(threads->integer(1, kMaxHostThreads));
    }
  }
  cluster.topology = read_topology(json, devices, cluster.devices);
}

// Returns the place in `profiles` of the one called `name`, or profiles.size().
std::size_t find_profile(const std::vector<DeviceProfile>& profiles, std::string_view name) {
  const auto found =
      std::find_if(profiles.begin(), profiles.end(),
                   [&](const DeviceProfile& profile) { return profile.name == name; });
  return static_cast<std::size_t>(found - profiles.begin());
}

// Returns the place in `profiles` of what a device says it is, which is added if it is new: the
// name of a profile written earlier in the file or of a shipped one, or a whole profile.
std::size_t read_profile(const JsonCursor& json, std::vector<DeviceProfile>& profiles) {
  if (json.is_text()) {
    const std::string name = json.text();
    const std::size_t at = find_profile(profiles, name);
    if (at == profiles.size()) {
      const std::vector<std::string> shipped = device_profile_names();
      if (!std::binary_search(shipped.begin(), shipped.end(), name)) {
        fail_unknown_name(json, "device profile", name, shipped);
      }
      profiles.push_back(load_device_profile(name));
    }
    return at;
  }
  if (!json.is_object()) {
    json.fail("expected the name of a device profile, or a device profile");
  }
  DeviceProfile profile = read_device_profile(json);
  const std::size_t at = find_profile(profiles, profile.name);
  if (at != profiles.size()) {
    json.at("name").fail(
        fmt::format("the cluster has another profile called '{}'", excerpt(profile.name)));
  }
  profiles.push_back(std::move(profile));
  return at;
}

void read_devices(const JsonCursor& json, Cluster& cluster) {
  const std::vector<JsonCursor> elements = json.elements();
  if (elements.empty() || elements.size() > kMaxDevices) {
    json.fail(fmt::format("expected 1 to {} devices, found {}", kMaxDevices, elements.size()));
  }
  std::set<std::string> names;
  for (const JsonCursor& element : elements) {
    element.expect_only({"name", "profile", "placeable", "copy_out", "copy_in"});
    for (const std::string_view engine : {"copy_out", "copy_in"}) {
      const auto json_engine = element.find(engine);
      if (json_engine && cluster.transfer_model != TransferModel::kPhysical) {
        json_engine->fail("expected only where the transfer model is 'physical'");
      }
    }
    Device device;
    device.name = read_name(element.at("name"));
    if (!names.insert(device.name).second) {
      element.at("name").fail(fmt::format("another device is called '{}'", excerpt(device.name)));
    }
    device.profile = read_profile(element.at("profile"), cluster.profiles);
    if (const auto placeable = element.find("placeable")) {
      device.placeable = placeable->boolean();
    }
    cluster.devices.push_back(std::move(device));
  }
  if (std::none_of(cluster.devices.begin(), cluster.devices.end(),
                   [](const Device& device) { return device.placeable; })) {
    json.fail("expected at least one placeable device");
  }
}

}  // namespace

Cluster read_cluster(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor json = document.root();
  json.expect_schema("emplace-cluster", 1);
  json.expect_only({"schema", "version", "name", "summary", "transfer_model", "placeto", "physical",
                    "grappler", "math", "devices", "constraints", "provenance"});
  Cluster cluster;
  cluster.name = json.at("name").non_empty_text();
  cluster.summary = json.at("summary").text();
  cluster.transfer_model = read_transfer_model(json);
  if (const auto math = json.find("math")) {
    cluster.math = static_cast<MathMode>(math->one_of(kMathModes));
  }
  const JsonCursor constants = json.at(to_string(cluster.transfer_model));
  const JsonCursor devices = json.at("devices");
  read_devices(devices, cluster);
  switch (cluster.transfer_model) {
    case TransferModel::kPlaceto:
      cluster.placeto = read_placeto_model(constants);
      break;
    case TransferModel::kPhysical:
      read_physical_model(constants, devices, cluster);
      break;
    case TransferModel::kGrappler:
      cluster.grappler = read_grappler_model(constants);
      break;
  }
  if (const auto constraints = json.find("constraints")) {
    constraints->expect_only({"pin", "together", "exclude", "memory"});
    try {
      constrain(cluster, read_constraints(*constraints));
    } catch (const Error& error) {
      constraints->fail(error.what());
    }
  }
  cluster.provenance = read_provenance(json.at("provenance"));
  return cluster;
}

}  // namespace emplace

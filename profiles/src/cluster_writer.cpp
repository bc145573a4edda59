#include "profile_reader.hpp"
#include "profile_writer.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/json.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace emplace {
namespace {

Json link_to_json(const Link& link) {
  if (link.name.size() > kMaxNameBytes) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the link '{}' has a name of {} bytes; a cluster file has at most {}",
                            excerpt(link.name), link.name.size(), kMaxNameBytes));
  }
  Json json = {{"name", link.name},
               {"bandwidth_bytes_per_us", link.bytes_per_us},
               {"latency_us", link.latency_us}};
  if (link.sharing != LinkSharing::kFair) {
    json.add("sharing", to_string(link.sharing));
  }
  return json;
}

Json route_to_json(const Cluster& cluster, DeviceId from, DeviceId to) {
  const auto route = cluster.topology.route(from, to);
  const std::string& from_name = cluster.devices[index_of(from)].name;
  const std::string& to_name = cluster.devices[index_of(to)].name;
  if (route.empty() || route.size() > kMaxRouteLinks) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the route from '{}' to '{}' has {} links; a cluster file has 1 to {}",
                            excerpt(from_name), excerpt(to_name), route.size(), kMaxRouteLinks));
  }
  Json names = Json::array();
  for (const std::int32_t link : route) {
    names.push_back(cluster.topology.links()[index_of(link)].name);
  }
  return {{"from", from_name}, {"to", to_name}, {"links", std::move(names)}};
}

Json physical_to_json(const Cluster& cluster) {
  Json links = Json::array();
  for (const Link& link : cluster.topology.links()) {
    links.push_back(link_to_json(link));
  }
  Json routes = Json::array();
  const auto num_devices = static_cast<DeviceId>(cluster.devices.size());
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      if (from != to) {
        routes.push_back(route_to_json(cluster, from, to));
      }
    }
  }
  Json json = {{"queue_order", to_string(cluster.queue_order)}};
  if (cluster.host != Host()) {
    json.add("host", {{"launch_us", cluster.host.launch_us}, {"threads", cluster.host.threads}});
  }
  json.add("links", links);
  json.add("routes", routes);
  return json;
}

Json constants_to_json(const Cluster& cluster) {
  switch (cluster.transfer_model) {
    case TransferModel::kPlaceto:
      return {{"gap_after_op_us", cluster.placeto.gap_after_op_us},
              {"gap_after_transfer_us", cluster.placeto.gap_after_transfer_us},
              {"bytes_per_us", cluster.placeto.bytes_per_us}};
    case TransferModel::kGrappler:
      return {{"latency_us", cluster.grappler.latency_us},
              {"bytes_per_us", cluster.grappler.bytes_per_us}};
    case TransferModel::kPhysical:
      break;
  }
  return physical_to_json(cluster);
}

// What is excluded is written as not placeable.
Json constraints_to_json(const Cluster& cluster) {
  Json constraints = Json::object();
  Json pins = Json::object();
  for (const Pin& pin : cluster.pins) {
    pins.add(pin.pattern, pin.device);
  }
  Json together = Json::array();
  for (const std::string& pattern : cluster.together) {
    together.push_back(pattern);
  }
  Json memory = Json::object();
  for (const Device& device : cluster.devices) {
    if (device.memory_limit_bytes != 0) {
      memory.add(device.name, fmt::format("{}B", device.memory_limit_bytes));
    }
  }
  for (const auto& [name, of_name] :
       {std::pair{"pin", &pins}, std::pair{"together", &together}, std::pair{"memory", &memory}}) {
    if (!of_name->empty()) {
      constraints.add(name, *of_name);
    }
  }
  return constraints;
}

}  // namespace

std::string write_cluster_json(const Cluster& cluster) {
  Json json = {{"schema", "emplace-cluster"},
               {"version", 1},
               {"name", cluster.name},
               {"summary", cluster.summary},
               {"transfer_model", to_string(cluster.transfer_model)}};
  json.add(to_string(cluster.transfer_model), constants_to_json(cluster));
  if (cluster.math != MathMode::kFramework) {
    json.add("math", to_string(cluster.math));
  }
  Json devices = Json::array();
  std::vector<bool> is_written(cluster.profiles.size());
  for (const Device& device : cluster.devices) {
    const DeviceProfile& profile = cluster.profiles[device.profile];
    Json entry = {{"name", device.name},
                  {"profile", is_written[device.profile] ? Json(profile.name) : to_json(profile)}};
    is_written[device.profile] = true;
    if (!device.placeable) {
      entry.add("placeable", false);
    }
    devices.push_back(entry);
  }
  json.add("devices", devices);
  if (const Json constraints = constraints_to_json(cluster); !constraints.empty()) {
    json.add("constraints", constraints);
  }
  json.add("provenance", to_json(cluster.provenance));
  return json.laid_out();
}

}  // namespace emplace

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/json_cursor.hpp>
#include <emplace/sim/placement_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace emplace {
namespace {

constexpr const char* kSchema = "emplace-placement";
constexpr std::int64_t kVersion = 1;

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace

std::string write_placement_json(const Problem& problem, const Placement& placement) {
  const OpGraph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  std::string text = fmt::format(
      "{{\n  \"schema\": \"{}\",\n  \"version\": {},\n  \"graph\": {},\n  \"cluster\": {},\n"
      "  \"devices\": {{",
      kSchema, kVersion, quoted(graph[boost::graph_bundle].name), quoted(cluster.name));
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const DeviceId device = placement[problem.grouping().group_of(op)];
    fmt::format_to(std::back_inserter(text), "{}\n    {}: {}", op == 0 ? "" : ",",
                   quoted(problem.op(op).name), quoted(problem.device(device).name));
  }
  return text + "\n  }\n}\n";
}

Placement read_placement_json(std::string_view text, const std::string& source,
                              const Problem& problem) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  root.expect_schema(kSchema, kVersion);
  root.expect_only({"schema", "version", "graph", "cluster", "devices"});

  for (const char* for_readers : {"graph", "cluster"}) {
    if (const auto name = root.find(for_readers)) {
      name->text();
    }
  }

  std::map<std::string, DeviceId, std::less<>> device_of_name;
  std::vector<std::string> device_names;
  for (const Device& device : problem.cluster().devices) {
    device_of_name.emplace(device.name, static_cast<DeviceId>(device_names.size()));
    device_names.push_back(device.name);
  }
  std::map<std::string_view, OpId> op_of_name;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    op_of_name.emplace(problem.op(op).name, op);
  }

  const JsonCursor devices = root.at("devices");
  IdVector<GroupId, std::optional<DeviceId>> device_of_group(problem.num_groups());
  std::size_t num_placed = 0;
  for (const auto& [op_name, device_name] : devices.members()) {
    const auto op = op_of_name.find(op_name);
    if (op == op_of_name.end()) {
      device_name.fail(fmt::format("the graph '{}' has no op of this name",
                                   problem.graph()[boost::graph_bundle].name));
    }
    const std::string name = device_name.text();
    const auto device = device_of_name.find(name);
    if (device == device_of_name.end()) {
      device_name.fail(fmt::format("the cluster '{}' has no device '{}'; it has {}",
                                   problem.cluster().name, name, fmt::join(device_names, ", ")));
    }
    std::optional<DeviceId>& group_device =
        device_of_group[problem.grouping().group_of(op->second)];
    if (group_device && *group_device != device->second) {
      device_name.fail(
          fmt::format("its group is on '{}' by another op; place all ops of a group on "
                      "one device, or simulate without groups",
                      problem.device(*group_device).name));
    }
    group_device = device->second;
    ++num_placed;
  }
  if (num_placed != op_of_name.size()) {
    for (const auto& [name, op] : op_of_name) {
      if (!devices.find(name)) {
        devices.fail(fmt::format("the op '{}' has no device ({} of {} ops have one)", name,
                                 num_placed, op_of_name.size()));
      }
    }
  }
  std::vector<DeviceId> result;
  for (const std::optional<DeviceId>& device : device_of_group) {
    result.push_back(*device);
  }
  return Placement(std::move(result));
}

}  // namespace emplace

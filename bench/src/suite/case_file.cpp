#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/bench/case_file.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace emplace::bench {
namespace {

constexpr std::int64_t kMaxDevices = 1024;
constexpr std::int64_t kMaxOutputs = 1'000'000;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 53;
constexpr double kMaxCostUs = 1e15;
constexpr const char* kDeviceClass = "case";

struct CaseGraph {
  OpGraph graph;
  std::unordered_map<std::int64_t, OpId> op_of_id;
};

CaseGraph read_nodes(const JsonCursor& nodes) {
  CaseGraph result;
  std::int64_t largest_id = 0;
  std::vector<std::pair<OpId, std::int64_t>> unnamed;
  const std::vector<JsonCursor> listed = nodes.elements();
  if (listed.empty()) {
    nodes.fail("expected at least one node");
  }
  for (const JsonCursor& node : listed) {
    node.expect_only({"id", "cost_us", "outputs", "name"});
    const JsonCursor id = node.at("id");
    const std::int64_t number = id.integer(0, std::numeric_limits<std::int64_t>::max());
    largest_id = std::max(largest_id, number);

    const JsonCursor cost = node.at("cost_us");
    const double cost_us = cost.number(0, kMaxCostUs);
    Op op;
    // The released simulator tells the integer 0 from the number 0.0 (rule 8).
    op.kind = cost.is_integer() && cost_us == 0 ? "no_op" : "op";
    op.measured.push_back({kDeviceClass, cost_us});
    for (const JsonCursor& bytes : node.at("outputs").elements()) {
      op.outputs.push_back({.bytes = bytes.integer(0, kMaxBytes)});
    }
    if (const auto name = node.find("name")) {
      op.name = name->non_empty_text();
    }
    const OpId vertex = static_cast<OpId>(boost::add_vertex(op, result.graph));
    if (op.name.empty()) {
      unnamed.emplace_back(vertex, number);
    }
    if (!result.op_of_id.emplace(number, vertex).second) {
      id.fail(fmt::format("the id {} occurs twice", number));
    }
  }
  const std::size_t width = fmt::formatted_size("{}", largest_id);
  for (const auto& [vertex, number] : unnamed) {
    result.graph[vertex].name = fmt::format("n{:0{}}", number, width);
  }
  return result;
}

void read_edges(const JsonCursor& edges, CaseGraph& into) {
  const auto op_at = [&](const JsonCursor& id) {
    const std::int64_t number = id.integer(0, std::numeric_limits<std::int64_t>::max());
    const auto found = into.op_of_id.find(number);
    if (found == into.op_of_id.end()) {
      id.fail(fmt::format("there is no node with the id {}", number));
    }
    return found->second;
  };
  std::int64_t num_added = 0;
  for (const JsonCursor& edge : edges.elements()) {
    const std::vector<JsonCursor> parts = edge.elements();
    if (parts.size() != 3) {
      edge.fail("expected [producer, output index, consumer]");
    }
    const OpId producer = op_at(parts[0]);
    const auto output =
        static_cast<std::int32_t>(parts[1].integer(Dependency::kControl, kMaxOutputs));
    // An output beyond those listed exists all the same, without bytes (rule 3).
    std::vector<Output>& outputs = into.graph[producer].outputs;
    if (output >= static_cast<std::int32_t>(outputs.size())) {
      num_added += output + 1 - static_cast<std::int64_t>(outputs.size());
      if (num_added > kMaxOutputs) {
        parts[1].fail(
            fmt::format("the edges up to here name {} outputs that no node lists; at most {} "
                        "can be added",
                        num_added, kMaxOutputs));
      }
      outputs.resize(static_cast<std::size_t>(output) + 1);
    }
    add_dependency(into.graph, producer, output, op_at(parts[2]));
  }
}

std::shared_ptr<Cluster> make_cluster(std::int64_t num_devices) {
  auto cluster = std::make_shared<Cluster>();
  cluster->name = kDeviceClass;
  cluster->profiles.push_back({.name = kDeviceClass,
                               .device_class = kDeviceClass,
                               .peak_flops_per_us = 1,
                               .memory_bytes_per_us = 1,
                               .memory_bytes = std::numeric_limits<std::int64_t>::max()});
  for (std::int64_t device = 0; device < num_devices; ++device) {
    cluster->devices.push_back({.name = fmt::format("gpu:{}", device)});
  }
  return cluster;
}

// Reads links, which a case names by their indices, and a route for each ordered pair of devices.
Topology read_topology(const JsonCursor& links, const JsonCursor& routes, DeviceId num_devices) {
  std::vector<Link> listed;
  for (const JsonCursor& link : links.elements()) {
    link.expect_only({"bandwidth_bytes_per_us", "latency_us", "sharing"});
    listed.push_back(
        {.name = fmt::format("link {}", listed.size()),
         .bytes_per_us = link.at("bandwidth_bytes_per_us").number(kMinBytesPerUs, kMaxBytesPerUs),
         .latency_us = link.at("latency_us").number(0, kMaxLatencyUs)});
    if (const auto sharing = link.find("sharing")) {
      listed.back().sharing = static_cast<LinkSharing>(sharing->one_of(kLinkSharings));
    }
  }
  const auto num_links = static_cast<std::int64_t>(listed.size());
  Topology topology(num_devices, std::move(listed));
  for (const JsonCursor& route : routes.elements()) {
    route.expect_only({"src", "dst", "links"});
    const auto from = static_cast<DeviceId>(route.at("src").integer(0, num_devices - 1));
    const auto to = static_cast<DeviceId>(route.at("dst").integer(0, num_devices - 1));
    if (from == to) {
      route.fail(fmt::format("expected two different devices, found {} twice", from));
    }
    if (!topology.route(from, to).empty()) {
      route.fail(fmt::format("another route leads from device {} to device {}", from, to));
    }
    std::vector<std::int32_t> taken;
    for (const JsonCursor& link : route.at("links").elements()) {
      const auto id = static_cast<std::int32_t>(link.integer(0, num_links - 1));
      if (std::find(taken.begin(), taken.end(), id) != taken.end()) {
        link.fail(fmt::format("the route takes link {} twice", id));
      }
      taken.push_back(id);
    }
    if (taken.empty()) {
      route.at("links").fail("expected at least one link");
    }
    topology.set_route(from, to, std::move(taken));
  }
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      if (from != to && topology.route(from, to).empty()) {
        routes.fail(fmt::format("expected a route from device {} to device {}", from, to));
      }
    }
  }
  return topology;
}

}  // namespace

SimulationCase read_case(std::string_view line, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(line, source);
  const JsonCursor root = document.root();
  root.expect_only({"name", "devices", "nodes", "edges", "placements", "links", "routes"});
  const std::string name = root.at("name").text();
  const std::int64_t num_devices = root.at("devices").integer(1, kMaxDevices);
  CaseGraph graph = read_nodes(root.at("nodes"));
  read_edges(root.at("edges"), graph);
  graph.graph[boost::graph_bundle].name = name;
  validate(graph.graph, source);

  std::vector<Placement> placements;
  for (const JsonCursor& listed : root.at("placements").elements()) {
    std::vector<DeviceId> devices;
    for (const JsonCursor& device : listed.elements()) {
      devices.push_back(static_cast<DeviceId>(device.integer(0, num_devices - 1)));
    }
    if (devices.size() != boost::num_vertices(graph.graph)) {
      listed.fail(fmt::format("expected a device for each of the {} nodes, found {}",
                              boost::num_vertices(graph.graph), devices.size()));
    }
    placements.emplace_back(std::move(devices));
  }
  std::shared_ptr<Cluster> cluster = make_cluster(num_devices);
  if (root.find("links") || root.find("routes")) {
    cluster->transfer_model = TransferModel::kPhysical;
    cluster->topology =
        read_topology(root.at("links"), root.at("routes"), static_cast<DeviceId>(num_devices));
  }
  Grouping grouping = ungrouped(graph.graph);
  try {
    return {.name = name,
            .problem = Problem(std::make_shared<const OpGraph>(std::move(graph.graph)),
                               std::move(grouping), std::move(cluster)),
            .placements = std::move(placements)};
  } catch (const Error& error) {  // names the graph, but not the file
    throw Error(error.code(), fmt::format("{}: {}", source, error.what()));
  }
}

std::string write_case_result(const SimulationCase& simulation_case, std::size_t placement,
                              const StepRecord& record) {
  std::string line =
      fmt::format(R"({{"name":{},"placement":{},"makespan_us":{},"peak_mem":[{}],"times":[)",
                  json_text(simulation_case.name), placement, record.makespan_us,
                  fmt::join(record.peak_bytes, ","));
  for (std::size_t op = 0; op < record.start_us.size(); ++op) {
    fmt::format_to(std::back_inserter(line), "{}[{},{}]", op == 0 ? "" : ",", record.start_us[op],
                   record.end_us[op]);
  }
  line += "]";
  if (simulation_case.problem.cluster().transfer_model == TransferModel::kPhysical) {
    std::vector<std::tuple<OpId, DeviceId, double, double>> transfers;
    transfers.reserve(record.transfers.size());
    for (const Transfer& transfer : record.transfers) {
      transfers.emplace_back(transfer.producer, transfer.to, transfer.start_us, transfer.end_us);
    }
    std::sort(transfers.begin(), transfers.end());
    line += R"(,"transfers":[)";
    const char* separator = "";
    for (const auto& [producer, to, start_us, end_us] : transfers) {
      fmt::format_to(std::back_inserter(line), "{}[{},{},{},{}]", separator, producer, to, start_us,
                     end_us);
      separator = ",";
    }
    line += "]";
  }
  return line + "}\n";
}

}  // namespace emplace::bench

// The workloads of Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph
// Operators", NeurIPS 2020 (repository msr-fiddle/dnn-partitioning, MIT licence).
//
// A node's latencies become measured costs of the device classes "fpga" (any accelerator) and
// "cpu", unless parameters name others, its colour class the colocation label "class-<n>", and
// "class-<n>-backward" for its backward nodes: one label for both would tie the first op of a step
// to the last, and all between them, into one group. An edge's `cost` is the time to move the
// source's value at 2 GiB/s; the value's bytes come from it, because some files give the
// destination's size. One folder of the original has that cost in seconds instead of milliseconds;
// the unit is found from cost and size. A node's `size` is that of its weights and its value:
// persistent_bytes is what remains of it without the outputs, 0 where they are larger.
//
// The training *layer* graphs are two disconnected copies of the forward graph whose backward half
// has its edges in forward direction. They are repaired: backward edges turn round, carrying the
// bytes of the value whose gradient they are, and each forward node gets an edge to the backward
// node of its class (a control edge if its value is unknown because nothing reads it). Gradients of
// one size from one node count as one value. The number of accelerators and their memory stand in
// the file too, but belong to a cluster.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::dnn_partitioning_format {
namespace {

// The format's transfer rate, 2 GiB/s.
constexpr double kBytesPerSecond = 2147483648.0;

// Bounds that keep every conversion below within 64 bits.
constexpr double kMaxBytes = 1e18;
constexpr double kMaxTransfer = 1e9;
constexpr double kMaxLatencyMs = 1e12;

struct PartitioningNode {
  JsonCursor place;
  std::string name;
  double fpga_ms = 0;
  double cpu_ms = 0;
  bool is_backward = false;
  std::optional<std::int64_t> color_class;
  double size = 0;
};

struct Edge {
  JsonCursor place;
  OpId producer = 0;
  OpId consumer = 0;
  double cost = 0;  // seconds or milliseconds
  double size = 0;
};

// One use of a value, as it goes into the graph.
struct Use {
  OpId producer = 0;
  OpId consumer = 0;
  std::optional<std::int64_t> bytes;  // nothing where only the order is known
};

// The files write truth values as true and false or as 1 and 0.
bool read_flag(const JsonCursor& node, std::string_view key, bool fallback) {
  const auto flag = node.find(key);
  if (!flag) {
    return fallback;
  }
  return flag->is_integer() ? flag->integer(0, 1) == 1 : flag->boolean();
}

class PartitioningReader {
 public:
  PartitioningReader(const JsonCursor& root, const Params& params)
      : accelerator_(params.get<std::string>("accelerator")), cpu_(params.get<std::string>("cpu")) {
    root.expect_only({"maxSizePerFPGA", "maxFPGAs", "maxCPUs", "nodes", "edges"});
    const JsonCursor nodes = root.at("nodes");
    for (const JsonCursor& node : nodes.elements()) {
      read_node(node);
    }
    if (nodes_.empty()) {
      nodes.fail("expected at least one node");
    }
    const JsonCursor edges = root.at("edges");
    for (const JsonCursor& edge : edges.elements()) {
      read_edge(edge);
    }
    find_unit(edges);
    check_values();
  }

  OpGraph build() const {
    OpGraph graph;
    for (const PartitioningNode& node : nodes_) {
      Op op{.name = node.name,
            .kind = "layer",
            .phase = node.is_backward ? Phase::kBackward : Phase::kForward,
            .measured = {{.device_class = accelerator_, .cost_us = node.fpga_ms * 1000},
                         {.device_class = cpu_, .cost_us = node.cpu_ms * 1000}}};
      if (node.color_class) {
        op.colocation =
            fmt::format("class-{}{}", *node.color_class, node.is_backward ? "-backward" : "");
      }
      boost::add_vertex(std::move(op), graph);
    }
    for (const Use& use : is_split_training() ? repaired_uses() : uses()) {
      add(use, graph);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      // A node's size is that of its weights and its outputs.
      std::int64_t weights = std::llround(nodes_[i].size);
      for (const Output& output : graph[i].outputs) {
        weights -= output.bytes;
      }
      graph[i].persistent_bytes = std::max<std::int64_t>(weights, 0);
    }
    return graph;
  }

 private:
  void read_node(const JsonCursor& object) {
    object.expect_only({"id", "name", "layerId", "supportedOnFpga", "cpuLatency", "fpgaLatency",
                        "isBackwardNode", "colorClass", "size"});
    const JsonCursor id_place = object.at("id");
    const std::int64_t id = id_place.integer();
    if (!position_.emplace(id, static_cast<OpId>(nodes_.size())).second) {
      id_place.fail(fmt::format("the id {} appears twice", id));
    }
    if (!read_flag(object, "supportedOnFpga", true)) {
      object.at("supportedOnFpga").fail("nodes that only a CPU can run are not supported");
    }
    const auto name = object.find("name");
    const auto color_class = object.find("colorClass");
    nodes_.push_back(
        {.place = object,
         .name = name ? name->non_empty_text() : fmt::format("node-{}", id),
         .fpga_ms = object.at("fpgaLatency").number(0, kMaxLatencyMs),
         .cpu_ms = object.at("cpuLatency").number(0, kMaxLatencyMs),
         .is_backward = read_flag(object, "isBackwardNode", false),
         .color_class = color_class ? std::optional(color_class->integer()) : std::nullopt,
         .size = object.at("size").number(0, kMaxBytes)});
  }

  OpId read_end(const JsonCursor& edge, std::string_view key) const {
    const JsonCursor end = edge.at(key);
    const std::int64_t id = end.integer();
    const auto found = position_.find(id);
    if (found == position_.end()) {
      end.fail(fmt::format("no node has the id {}", id));
    }
    return found->second;
  }

  void read_edge(const JsonCursor& object) {
    object.expect_only({"sourceId", "destId", "cost", "size"});
    edges_.push_back({.place = object,
                      .producer = read_end(object, "sourceId"),
                      .consumer = read_end(object, "destId"),
                      .cost = object.at("cost").number(0, kMaxTransfer),
                      .size = object.at("size").number(0, kMaxBytes)});
    if (!pairs_.emplace(edges_.back().producer, edges_.back().consumer).second) {
      object.fail("the edge appears twice");
    }
  }

  // Finds what a cost of 1 moves: the unit that fits more edges is that of the file.
  void find_unit(const JsonCursor& edges) {
    int fit_seconds = 0;
    int fit_milliseconds = 0;
    bool costs_any = false;
    for (const Edge& edge : edges_) {
      const double seconds = edge.size / kBytesPerSecond;
      costs_any |= edge.cost > 0;
      if (seconds == 0) {
        continue;
      }
      fit_seconds += std::abs(edge.cost / seconds - 1) < 1e-6 ? 1 : 0;
      fit_milliseconds += std::abs(edge.cost / seconds / 1000 - 1) < 1e-6 ? 1 : 0;
    }
    if (costs_any && fit_seconds + fit_milliseconds == 0) {
      edges.fail(
          "expected costs of size / 2^31 in seconds or milliseconds; no edge has such a cost");
    }
    bytes_per_cost_ = fit_seconds > fit_milliseconds ? kBytesPerSecond : kBytesPerSecond / 1000;
  }

  std::int64_t bytes(const Edge& edge) const { return std::llround(edge.cost * bytes_per_cost_); }

  // Sizes may be those of the destination, but a node has one value and so one cost.
  void check_values() const {
    IdVector<OpId, const Edge*> first(nodes_.size(), nullptr);
    for (const Edge& edge : edges_) {
      const Edge*& other = first[edge.producer];
      if (other == nullptr) {
        other = &edge;
      }
      if (bytes(edge) != bytes(*other)) {
        edge.place.at("cost").fail(fmt::format(
            "expected {} as on the other edges of its source, found {}", other->cost, edge.cost));
      }
    }
  }

  // Says whether there is a forward and a backward half, and no edge between them.
  bool is_split_training() const {
    const auto is_backward = [](const PartitioningNode& node) { return node.is_backward; };
    return std::any_of(nodes_.begin(), nodes_.end(), is_backward) &&
           !std::all_of(nodes_.begin(), nodes_.end(), is_backward) &&
           std::all_of(edges_.begin(), edges_.end(), [&](const Edge& edge) {
             return nodes_[edge.producer].is_backward == nodes_[edge.consumer].is_backward;
           });
  }

  std::vector<Use> uses() const {
    std::vector<Use> uses;
    for (const Edge& edge : edges_) {
      uses.push_back({edge.producer, edge.consumer, bytes(edge)});
    }
    return uses;
  }

  // Returns the forward node of each backward node, -1 for the forward nodes: the one of its class.
  IdVector<OpId, OpId> mates() const {
    std::map<std::int64_t, OpId> forward;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const PartitioningNode& node = nodes_[i];
      if (!node.is_backward && node.color_class &&
          !forward.emplace(*node.color_class, static_cast<OpId>(i)).second) {
        node.place.at("colorClass")
            .fail(
                "expected one forward node in each class, because no edge leads from the forward "
                "to the backward half");
      }
    }
    IdVector<OpId, OpId> mates(nodes_.size(), -1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].is_backward) {
        continue;
      }
      // Each forward node is taken by one backward node.
      const auto mate =
          nodes_[i].color_class ? forward.find(*nodes_[i].color_class) : forward.end();
      if (mate == forward.end()) {
        nodes_[i].place.fail(
            "expected a forward node of the same class for this backward node alone, because no "
            "edge leads from the forward to the backward half");
      }
      mates[i] = mate->second;
      forward.erase(mate);
    }
    return mates;
  }

  // Turns the backward half round and joins each forward node to its mate.
  std::vector<Use> repaired_uses() const {
    const IdVector<OpId, OpId> mate = mates();
    IdVector<OpId, std::optional<std::int64_t>> value(nodes_.size());
    std::vector<Use> uses;
    for (const Edge& edge : edges_) {
      value[edge.producer] = bytes(edge);
      if (!nodes_[edge.producer].is_backward) {
        uses.push_back({edge.producer, edge.consumer, bytes(edge)});
        continue;
      }
      if (!pairs_.contains({mate[edge.producer], mate[edge.consumer]})) {
        edge.place.fail("the forward half has no such edge, but its copy, the backward half, has");
      }
      uses.push_back({edge.consumer, edge.producer, bytes(edge)});
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (mate[i] >= 0) {
        uses.push_back({mate[i], static_cast<OpId>(i), value[mate[i]]});
      }
    }
    return uses;
  }

  // Adds an edge. What a node hands out in one size is one value: an addition, for example, sends
  // the same gradient to both of its inputs.
  static void add(const Use& use, OpGraph& graph) {
    std::int32_t output = Dependency::kControl;
    if (use.bytes) {
      std::vector<Output>& outputs = graph[index_of(use.producer)].outputs;
      const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const Output& known) {
        return known.bytes == *use.bytes;
      });
      output = static_cast<std::int32_t>(found - outputs.begin());
      if (found == outputs.end()) {
        outputs.push_back({.bytes = *use.bytes});
      }
    }
    add_dependency(graph, use.producer, output, use.consumer);
  }

  std::string accelerator_;
  std::string cpu_;
  IdVector<OpId, PartitioningNode> nodes_;
  std::vector<Edge> edges_;
  std::map<std::int64_t, OpId> position_;
  std::set<std::pair<OpId, OpId>> pairs_;
  double bytes_per_cost_ = 0;
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  const JsonDocument document = JsonDocument::parse(text, source);
  OpGraph graph = PartitioningReader(document.root(), params).build();
  graph[boost::graph_bundle].source = "dnn-partitioning (Tarnawski et al., NeurIPS 2020)";
  return graph;
}

const FormatRegistration kRegistration(
    {.name = "dnn-partitioning",
     .summary = "layers and ops with latencies and sizes, of the NeurIPS 2020 placement paper",
     .reference = "Tarnawski et al., NeurIPS 2020; github.com/msr-fiddle/dnn-partitioning",
     .read_parameters = {{.name = "accelerator",
                          .default_value = "fpga",
                          .summary = "device class that fpgaLatency was measured on"},
                         {.name = "cpu",
                          .default_value = "cpu",
                          .summary = "device class that cpuLatency was measured on"}},
     .recognizes =
         [](const FileContent& file) { return file.has("maxFPGAs") && file.has("nodes"); },
     .read = read});

}  // namespace
}  // namespace emplace::dnn_partitioning_format

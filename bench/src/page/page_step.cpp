// The step of a placement as JSON, for the timeline and the graph of a report's page. Arrays run
// over ops, transfers and groups, because a step has thousands of these.

#include "step_timeline.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/report_page.hpp>
#include <emplace/graphs/layered_layout.hpp>
#include <emplace/sim/explanation.hpp>
#include <emplace/sim/memory_curve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace::bench {
namespace {

constexpr int kDeepestLayer = 6;         // elements of a scope
constexpr std::size_t kMostLayers = 60;  // more are not told apart
constexpr std::size_t kMostLinkLanes = 12;
constexpr std::size_t kMostTransferRows = 4;  // drawn above each other in one lane
constexpr double kLeastMemoryChange = 2e-3;   // of the peak; smaller changes are not drawn
constexpr GroupId kMostGroups = 4000;         // more are not legible
constexpr double kWithinPass = 8;             // how much harder edges within a pass pull
constexpr LayeredSizes kGroupSizes = {
    .node_width = 12, .node_height = 12, .waypoint_width = 3, .gap = 10, .layer_gap = 14};

double in_nanoseconds(double us) { return std::round(us * 1e3) / 1e3; }

// Numbers texts in the order in which they come first.
class TextList {
 public:
  std::size_t number_of(std::string_view text) {
    const auto [at, is_new] = numbers_.try_emplace(std::string(text), texts_.size());
    if (is_new) {
      texts_.push_back(std::string(text));
    }
    return at->second;
  }

  std::size_t size() const { return texts_.size(); }
  Json to_json() const { return texts_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

// The deepest layers of which there are not too many.
int layer_depth(const Problem& problem) {
  for (int depth = kDeepestLayer; depth > 1; --depth) {
    TextList layers;
    for (OpId op = 0; op < problem.num_ops() && layers.size() <= kMostLayers; ++op) {
      layers.number_of(layer_of(problem.op(op).scope, depth));
    }
    if (layers.size() <= kMostLayers) {
      return depth;
    }
  }
  return 1;
}

// The elements that the scopes of all members share, or the name of the only one.
std::string label_of(const Problem& problem, std::span<const OpId> members) {
  if (members.size() == 1) {
    return problem.op(members.front()).name;
  }
  std::string_view shared = problem.op(members.front()).scope;
  for (const OpId op : members) {
    const std::string_view scope = problem.op(op).scope;
    while (!(scope.starts_with(shared) &&
             (shared.empty() || scope.size() == shared.size() || scope[shared.size()] == '/'))) {
      const std::size_t slash = shared.rfind('/');
      shared = shared.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
  }
  return shared.empty() ? fmt::format("{} to {}", problem.op(members.front()).name,
                                      problem.op(members.back()).name)
                        : std::string(shared);
}

class StepWriter {
 public:
  StepWriter(const Problem& problem, const StepRecord& record)
      : problem_(problem),
        record_(record),
        op_lane_(index_of(problem.num_ops())),
        op_row_(index_of(problem.num_ops())),
        device_lane_(index_of(problem.num_devices()), kNoLane) {}

  std::string write() {
    Json json = {{"makespan_us", in_nanoseconds(record_.makespan_us)},
                 {"status", to_string(record_.status)},
                 {"ops_of_graph", problem_.num_ops()},
                 {"groups_of_problem", problem_.num_groups()}};
    json.add("devices", devices());
    place_ops();
    Json transfers = place_transfers();
    json.add("ops", ops());
    json.add("transfers", transfers);
    json.add("path", path());
    json.add("lanes", lanes());
    json.add("layers", layers_.to_json());
    json.add("kinds", kinds_.to_json());
    json.add("scopes", scopes_.to_json());
    json.add("links", links_.to_json());
    json.add("groups", groups());
    return json.text();
  }

 private:
  static constexpr std::int32_t kNoLane = -1;

  // A band of the picture: a device, or a link if there is none.
  struct Lane {
    std::string name{};
    std::optional<DeviceId> device{};
    std::optional<double> busy{};
    std::size_t rows = 1;
  };

  Json lanes() const {
    Json json = Json::array();
    for (const Lane& lane : lanes_) {
      json.push_back(
          {{"name", lane.name}, {"device", lane.device}, {"busy", lane.busy}, {"rows", lane.rows}});
    }
    return json;
  }

  DeviceId device_of(OpId op) const { return record_.placement[problem_.grouping().group_of(op)]; }

  Json devices() const {
    const IdVector<DeviceId, std::vector<MemoryPoint>> curves = memory_curves(problem_, record_);
    Json devices = Json::array();
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      devices.push_back({{"name", problem_.device(device).name},
                         {"profile", problem_.profile(device).name},
                         {"capacity_bytes", problem_.memory_bytes(device)},
                         {"peak_bytes", record_.peak_bytes[device]},
                         {"memory", memory_of(device, curves[device])}});
    }
    return devices;
  }

  // [us, bytes] of changes that can be seen.
  Json memory_of(DeviceId device, const std::vector<MemoryPoint>& curve) const {
    const double least_change =
        kLeastMemoryChange * static_cast<double>(record_.peak_bytes[device]);
    Json points = Json::array();
    std::int64_t last = -1;
    for (const MemoryPoint& point : curve) {
      const bool is_step =
          last < 0 || std::abs(static_cast<double>(point.bytes - last)) >= least_change;
      if (is_step || point.bytes == record_.peak_bytes[device] || &point == &curve.back()) {
        points.push_back(Json::array({in_nanoseconds(point.at_us), point.bytes}));
        last = point.bytes;
      }
    }
    return points;
  }

  // A lane for each device that ran something, with as many rows as its ops need.
  void place_ops() {
    for (const TimelineRow& row : StepTimeline(problem_, record_, 0).rows()) {
      const auto lane = static_cast<std::int32_t>(lanes_.size());
      device_lane_[index_of(row.device)] = lane;
      for (std::size_t at = 0; at < row.lanes.size(); ++at) {
        for (const OpId op : row.lanes[at]) {
          op_lane_[index_of(op)] = lane;
          op_row_[index_of(op)] = at;
        }
      }
      const double slots_us = record_.makespan_us * problem_.slots(row.device);
      lanes_.push_back({.name = problem_.device(row.device).name,
                        .device = row.device,
                        .busy = slots_us > 0 ? row.busy_us / slots_us : 0,
                        .rows = row.lanes.size()});
    }
  }

  std::string sender_of(const Transfer& transfer) const {
    return fmt::format("{} sends", problem_.device(transfer.from).name);
  }

  // What a transfer occupies: links of the cluster, or the outgoing channel of a device.
  std::vector<std::string> links_of(const Transfer& transfer) const {
    const Topology& topology = problem_.topology();
    if (transfer.to == Transfer::kToAll || topology.links().empty()) {
      return {sender_of(transfer)};
    }
    std::vector<std::string> names;
    for (const std::int32_t link : topology.route(transfer.from, transfer.to)) {
      names.push_back(topology.links()[static_cast<std::size_t>(link)].name);
    }
    return names;
  }

  // The devices that get what a transfer moves.
  std::set<DeviceId> receivers_of(const Transfer& transfer) const {
    if (transfer.to != Transfer::kToAll) {
      return {transfer.to};
    }
    std::set<DeviceId> receivers;
    for (const Problem::Child& child : problem_.children(transfer.producer)) {
      if (child.output == transfer.output && device_of(child.op) != transfer.from) {
        receivers.insert(device_of(child.op));
      }
    }
    return receivers;
  }

  // A transfer's place in the lanes below those of the devices. There is one for each link that is
  // in use, in the order of names, or for each device that sends if these would be too many.
  Json place_transfers() {
    std::map<std::string, std::int32_t> lane_of;
    std::map<std::string, std::int32_t> senders;
    for (const Transfer& transfer : record_.transfers) {
      senders.emplace(sender_of(transfer), 0);
      for (const std::string& link : links_of(transfer)) {
        lane_of.emplace(link, 0);
      }
    }
    const bool by_sender = lane_of.size() > kMostLinkLanes;
    if (by_sender) {
      lane_of = std::move(senders);
    }
    for (auto& [name, lane] : lane_of) {
      lane = static_cast<std::int32_t>(lanes_.size());
      lanes_.push_back({.name = name});
    }
    std::vector<std::size_t> order(record_.transfers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t at) {
      const Transfer& transfer = record_.transfers[at];
      return std::tuple(transfer.start_us, transfer.end_us, at);
    });
    JsonColumns transfers = {"producer", "from",  "to",    "start", "end",
                             "waited",   "bytes", "links", "lanes"};
    transfer_lane_.resize(record_.transfers.size(), kNoLane);
    std::map<std::int32_t, std::vector<double>> free_us;  // by lane, of its rows
    for (const std::size_t at : order) {
      const Transfer& transfer = record_.transfers[at];
      const std::vector<std::string> links = links_of(transfer);
      Json link_numbers = Json::array();
      for (const std::string& link : links) {
        link_numbers.push_back(links_.number_of(link));
      }
      Json places = Json::array();
      for (const std::string& name : by_sender ? std::vector{sender_of(transfer)} : links) {
        const std::int32_t lane = lane_of.at(name);
        std::vector<double>& rows = free_us[lane];
        places.push_back(Json::array({lane, take_row(rows, transfer)}));
        lanes_[static_cast<std::size_t>(lane)].rows = rows.size();
        transfer_lane_[at] = lane;
      }
      transfers["producer"].push_back(transfer.producer);
      transfers["from"].push_back(transfer.from);
      transfers["to"].push_back(receivers_of(transfer));
      transfers["start"].push_back(in_nanoseconds(transfer.start_us));
      transfers["end"].push_back(in_nanoseconds(transfer.end_us));
      transfers["waited"].push_back(in_nanoseconds(transfer.start_us - transfer.wanted_us));
      transfers["bytes"].push_back(problem_.output_bytes(transfer.output));
      transfers["links"].push_back(link_numbers);
      transfers["lanes"].push_back(places);
    }
    return transfers.json();
  }

  // Takes the first row that is free, a new one, or, where there are enough, that which is free
  // first.
  static std::ptrdiff_t take_row(std::vector<double>& free_us, const Transfer& transfer) {
    auto row = std::ranges::find_if(free_us, [&](double us) { return us <= transfer.start_us; });
    if (row == free_us.end() && free_us.size() < kMostTransferRows) {
      row = free_us.insert(free_us.end(), 0);
    } else if (row == free_us.end()) {
      row = std::ranges::min_element(free_us);
    }
    *row = std::max(*row, transfer.end_us);
    return row - free_us.begin();
  }

  Json ops() {
    const int depth = layer_depth(problem_);
    JsonColumns ops;
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      const Op& facts = problem_.op(op);
      const DeviceId device = device_of(op);
      // Most names begin with their scope.
      const bool is_in_scope = !facts.scope.empty() && facts.name.starts_with(facts.scope);
      ops["name"].push_back(is_in_scope ? facts.name.substr(facts.scope.size()) : facts.name);
      ops["in_scope"].push_back(is_in_scope ? 1 : 0);
      ops["kind"].push_back(kinds_.number_of(facts.kind));
      ops["scope"].push_back(scopes_.number_of(facts.scope));
      ops["layer"].push_back(layers_.number_of(layer_of(facts.scope, depth)));
      ops["phase"].push_back(to_string(facts.phase).substr(0, 1));
      ops["group"].push_back(problem_.grouping().group_of(op));
      ops["lane"].push_back(op_lane_[index_of(op)]);
      ops["row"].push_back(op_row_[index_of(op)]);
      ops["start"].push_back(in_nanoseconds(record_.start_us[op]));
      ops["end"].push_back(in_nanoseconds(record_.end_us[op]));
      ops["cost"].push_back(in_nanoseconds(problem_.cost_us(op, device)));
      ops["source"].push_back(to_string(problem_.cost_source(op, device)));
      ops["bytes"].push_back(problem_.allocated_bytes(op));
    }
    return ops.json();
  }

  // Segments of the critical path, each in a lane.
  Json path() const {
    JsonColumns path = {"from", "to", "lane", "kind", "op"};
    for (const PathSegment& segment : critical_path(problem_, record_)) {
      const std::int32_t lane =
          segment.transfer != PathSegment::kNone ? transfer_lane_[index_of(segment.transfer)]
          : segment.device != PathSegment::kNone ? device_lane_[index_of(segment.device)]
                                                 : kNoLane;
      path["from"].push_back(in_nanoseconds(segment.from_us));
      path["to"].push_back(in_nanoseconds(segment.to_us));
      path["lane"].push_back(lane);
      path["kind"].push_back(to_string(segment.kind));
      path["op"].push_back(segment.op);
    }
    return path.json();
  }

  // Groups in the layers of their graph: the forward pass from left to right, the backward pass
  // below or above it and back.
  Json groups() const {
    const Grouping& grouping = problem_.grouping();
    if (grouping.size() > kMostGroups) {
      return nullptr;
    }
    std::vector<std::vector<OpId>> members(index_of(grouping.size()));
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      members[index_of(grouping.group_of(op))].push_back(op);
    }
    // The backward pass runs back beside the forward pass.
    const auto is_backward = [&](GroupId group) {
      return std::ranges::none_of(members[index_of(group)], [&](OpId op) {
        return problem_.op(op).phase == Phase::kForward;
      });
    };
    std::vector<LayeredEdge> edges;
    Json from = Json::array();
    Json to = Json::array();
    Json bytes = Json::array();
    for (const GroupEdge& edge : problem_.group_edges()) {
      const bool runs_back = is_backward(edge.producer) && is_backward(edge.consumer);
      const bool within_pass = is_backward(edge.producer) == is_backward(edge.consumer);
      edges.push_back({.from = runs_back ? edge.consumer : edge.producer,
                       .to = runs_back ? edge.producer : edge.consumer,
                       .weight = within_pass ? kWithinPass : 1});
      from.push_back(edge.producer);
      to.push_back(edge.consumer);
      bytes.push_back(edge.bytes);
    }
    const LayeredLayout layout = layered_layout(grouping.size(), edges, kGroupSizes);
    JsonColumns groups;
    for (GroupId group = 0; group < grouping.size(); ++group) {
      const LayeredLayout::Point& center = layout.center[index_of(group)];
      const DeviceId device = record_.placement[group];
      groups["x"].push_back(std::round(center.y));
      groups["y"].push_back(std::round(center.x));
      groups["device"].push_back(device);
      groups["ops"].push_back(members[index_of(group)].size());
      groups["label"].push_back(label_of(problem_, members[index_of(group)]));
      groups["cost"].push_back(in_nanoseconds(problem_.group_cost_us(group, device)));
      groups["kept_bytes"].push_back(problem_.group_persistent_bytes(group));
    }
    Json json = groups.json();
    if (!json.empty()) {
      json.add("edges", {{"from", from}, {"to", to}, {"bytes", bytes}});
    }
    return json;
  }

  const Problem& problem_;
  const StepRecord& record_;
  std::vector<std::int32_t> op_lane_;
  std::vector<std::size_t> op_row_;
  std::vector<std::int32_t> device_lane_;
  std::vector<std::int32_t> transfer_lane_;  // the last of its links'
  std::vector<Lane> lanes_;
  TextList layers_;
  TextList kinds_;
  TextList scopes_;
  TextList links_;
};

}  // namespace

std::string describe_step(const Problem& problem, const StepRecord& record) {
  return StepWriter(problem, record).write();
}

}  // namespace emplace::bench

#include <emplace/base/json.hpp>
#include <emplace/bench/explanation_json.hpp>

namespace emplace::bench {
namespace {

const std::string& link_name(const Explanation& explanation, std::int32_t link) {
  return explanation.links[static_cast<std::size_t>(link)].name;
}

std::string_view name_of(Allocation::Kind kind) {
  switch (kind) {
    case Allocation::Kind::kOutput:
      return "output";
    case Allocation::Kind::kCopy:
      return "copy";
    case Allocation::Kind::kWorkspace:
      return "workspace";
  }
  return "";
}

Json path_to_json(const Problem& problem, const Explanation& explanation) {
  Json path = Json::array();
  for (const PathSegment& segment : explanation.path) {
    Json json = {{"kind", to_string(segment.kind)},
                 {"queued", segment.is_queued},
                 {"from_us", segment.from_us},
                 {"to_us", segment.to_us},
                 {"op", problem.op(segment.op).name}};
    if (segment.link == PathSegment::kNone) {
      json.add("device", problem.device(segment.device).name);
    } else {
      json.add("link", link_name(explanation, segment.link));
    }
    path.push_back(json);
  }
  return path;
}

Json gains_to_json(const Problem& problem, const Explanation& explanation) {
  Json gains = Json::array();
  for (const Gain& gain : explanation.gains) {
    Json json = {{"what", to_string(gain.what)}};
    if (gain.what == Gain::What::kDevice) {
      json.add("name", problem.device(gain.index).name);
    } else if (gain.what == Gain::What::kLink) {
      json.add("name", link_name(explanation, gain.index));
    }
    json.add("at_most_us", gain.at_most_us);
    gains.push_back(json);
  }
  return gains;
}

Json overflow_to_json(const Problem& problem, const MemoryOverflow& overflow) {
  Json largest = Json::array();
  for (const Allocation& allocation : overflow.largest) {
    Json json = {{"op", problem.op(allocation.op).name},
                 {"kind", name_of(allocation.kind)},
                 {"bytes", allocation.bytes},
                 {"since_us", allocation.from_us}};
    if (allocation.kind != Allocation::Kind::kWorkspace &&
        allocation.output != Allocation::kAllOutputs) {
      json.add("output", allocation.output - problem.outputs(allocation.op).first);
    }
    largest.push_back(json);
  }
  return {{"device", problem.device(overflow.device).name},
          {"at_us", overflow.at_us},
          {"bytes_over", overflow.bytes_over},
          {"persistent_bytes", overflow.persistent_bytes},
          {"largest", std::move(largest)},
          {"other_bytes", overflow.other_bytes}};
}

}  // namespace

std::string explanation_json(const Problem& problem, const StepRecord& record,
                             const Explanation& explanation) {
  Json kinds = Json::array();
  for (std::size_t kind = 0; kind < kNumPathKinds; ++kind) {
    kinds.push_back({{"kind", to_string(static_cast<PathKind>(kind))},
                     {"path_us", explanation.path_kinds[kind].path_us},
                     {"queued_us", explanation.path_kinds[kind].queued_us}});
  }
  Json devices = Json::array();
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const DeviceLoad& load = IdSpan<DeviceId, const DeviceLoad>(explanation.devices)[device];
    devices.push_back({{"name", problem.device(device).name},
                       {"path_us", load.path_us},
                       {"busy_us", load.busy_us},
                       {"utilization", load.utilization},
                       {"transfer_wait_us", load.transfer_wait_us},
                       {"ops", load.ops},
                       {"most_at_once", load.most_at_once},
                       {"peak_bytes", record.peak_bytes[device]},
                       {"capacity_bytes", problem.memory_bytes(device)}});
  }
  Json links = Json::array();
  for (const LinkLoad& load : explanation.links) {
    links.push_back({{"name", load.name},
                     {"path_us", load.path_us},
                     {"utilization", load.utilization},
                     {"transfers", load.transfers},
                     {"bytes", load.bytes}});
  }
  Json op_kinds = Json::array();
  for (const OpKindShare& share : explanation.op_kinds) {
    op_kinds.push_back({{"kind", share.kind}, {"path_us", share.path_us}, {"ops", share.ops}});
  }
  return Json({{"status", to_string(record.status)},
               {"step_time_us", explanation.makespan_us},
               {"exposed_communication_us", explanation.exposed_us},
               {"path_kinds", std::move(kinds)},
               {"devices", std::move(devices)},
               {"links", std::move(links)},
               {"op_kinds", std::move(op_kinds)},
               {"gains", gains_to_json(problem, explanation)},
               {"out_of_memory", explanation.overflow
                                     ? overflow_to_json(problem, *explanation.overflow)
                                     : Json(nullptr)},
               {"path", path_to_json(problem, explanation)}})
      .text();
}

}  // namespace emplace::bench

#include "listings.hpp"

#include "cluster_text.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/best_known.hpp>
#include <emplace/bench/placement_format.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace emplace::cli {
namespace {

using agents::AgentRegistry;
using bench::TextTable;
constexpr TextTable::Align kRightAligned = TextTable::Align::kRight;

Json to_json(const ParamValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json to_json(std::span<const ParamSpec> parameters) {
  Json list = Json::array();
  for (const ParamSpec& parameter : parameters) {
    Json json = {{"name", parameter.name}, {"default", to_json(parameter.default_value)}};
    if (std::holds_alternative<std::int64_t>(parameter.default_value) ||
        std::holds_alternative<double>(parameter.default_value)) {
      json.add("min", parameter.min);
      json.add("max", parameter.max);
    }
    if (!parameter.choices.empty()) {
      json.add("choices", parameter.choices);
    }
    json.add("summary", parameter.summary);
    json.add("group", parameter.group);
    json.add("expert", parameter.expert);
    list.push_back(json);
  }
  return list;
}

Json to_json(std::span<const agents::Preset> presets) {
  Json list = Json::array();
  for (const agents::Preset& preset : presets) {
    Json defaults = Json::object();
    for (const auto& [name, value] : preset.defaults) {
      defaults.add(name, to_json(value));
    }
    list.push_back(
        {{"name", preset.name}, {"summary", preset.summary}, {"defaults", std::move(defaults)}});
  }
  return list;
}

std::vector<std::string> agent_names() { return AgentRegistry::global().names(); }

ListingEntry agent_entry(const std::string& name) {
  const agents::AgentInfo& info = AgentRegistry::global().info(name);
  return {.name = name,
          .cells = {std::string(to_string(info.kind))},
          .summary = info.summary,
          .description = info.description,
          .reference = info.reference,
          .parameters = info.parameters,
          .presets = info.presets,
          .json = {{"name", name},
                   {"kind", to_string(info.kind)},
                   {"summary", info.summary},
                   {"description", info.description},
                   {"reference", info.reference},
                   {"deterministic", info.deterministic},
                   {"trainable", info.trainable},
                   {"parameters", to_json(info.parameters)},
                   {"presets", to_json(info.presets)}}};
}

std::vector<std::string> graph_names() { return GraphCatalog::global().names(); }

ListingEntry graph_entry(const std::string& name) {
  const GraphModel& model = GraphCatalog::global().find(name);
  return {.name = name,
          .summary = model.summary,
          .reference = model.reference,
          .parameters = model.parameters,
          .json = {{"name", name},
                   {"summary", model.summary},
                   {"reference", model.reference},
                   {"parameters", to_json(model.parameters)}}};
}

std::vector<std::string> format_names() { return GraphFormats::global().names(); }

ListingEntry format_entry(const std::string& name) {
  const GraphFormat& format = GraphFormats::global().find(name);
  std::vector<ParamSpec> parameters = format.read_parameters;
  for (const ParamSpec& parameter : format.write_parameters) {
    if (std::ranges::find(parameters, parameter.name, &ParamSpec::name) == parameters.end()) {
      parameters.push_back(parameter);
    }
  }
  return {.name = name,
          .cells = {format.read ? "yes" : "", format.write ? "yes" : ""},
          .summary = format.summary,
          .reference = format.reference,
          .parameters = std::move(parameters),
          .json = {{"name", name},
                   {"summary", format.summary},
                   {"reference", format.reference},
                   {"endings", format.endings},
                   {"can_read", format.read != nullptr},
                   {"can_write", format.write != nullptr},
                   {"read_parameters", to_json(format.read_parameters)},
                   {"write_parameters", to_json(format.write_parameters)}}};
}

ListingEntry placement_format_entry(const std::string& name) {
  const bench::PlacementFormat& format = bench::find_placement_format(name);
  return {.name = name,
          .summary = std::string(format.summary),
          .reference = std::string(format.reference),
          .json = {
              {"name", format.name}, {"summary", format.summary}, {"reference", format.reference}}};
}

ListingEntry grouping_entry(const std::string& name) {
  const GroupingStrategy& strategy = find_grouping(name);
  return {.name = name,
          .cells = {strategy.takes_target ? "yes" : ""},
          .summary = std::string(strategy.summary),
          .reference = std::string(strategy.reference),
          .json = {{"name", strategy.name},
                   {"summary", strategy.summary},
                   {"reference", strategy.reference},
                   {"takes_target", strategy.takes_target},
                   {"default", strategy.name == kDefaultGrouping}}};
}

ListingEntry cluster_entry(const std::string& name) {
  const Cluster cluster = load_cluster(name);
  Json devices = Json::array();
  for (const Device& device : cluster.devices) {
    const DeviceProfile& profile = cluster.profiles[device.profile];
    devices.push_back({{"name", device.name},
                       {"profile", profile.name},
                       {"device_class", profile.device_class},
                       {"memory_bytes", profile.memory_bytes},
                       {"placeable", device.placeable}});
  }
  return {.name = name,
          .cells = {fmt::format("{}", cluster.devices.size())},
          .summary = cluster.summary,
          .description = cluster_text(cluster),
          .json = {{"name", name},
                   {"summary", cluster.summary},
                   {"description", cluster_text(cluster)},
                   {"devices", std::move(devices)}}};
}

std::vector<std::string> op_kind_names() {
  std::vector<std::string> names;
  for (const std::span<const OpKind> kinds : {op_kinds(), imported_op_kinds()}) {
    for (const OpKind& kind : kinds) {
      names.emplace_back(kind.name);
    }
  }
  std::ranges::sort(names);
  return names;
}

std::string_view memory_of(const OpKind& kind) {
  switch (kind.memory) {
    case ResultMemory::kOwn:
      return "";
    case ResultMemory::kView:
      return "\na view: in the memory of its first input";
    case ResultMemory::kInPlace:
      return "\nworks in place: may write over an input";
  }
  return "";
}

ListingEntry op_kind_entry(const std::string& name) {
  const OpKind* kind = find_op_kind(name);
  const bool imported = kind == nullptr;
  if (imported) {
    kind = &*std::ranges::find(imported_op_kinds(), name, &OpKind::name);
  }
  const std::int64_t kernels = num_kernels(Op{.kind = name});
  const std::string time = kernels == 0  ? "\ntakes no time"
                           : kernels > 1 ? fmt::format("\n{} kernels of PyTorch", kernels)
                                         : "";
  const std::string description =
      fmt::format("shape: {}{}{}{}", kind->shape.empty() ? "none" : kind->shape, time,
                  memory_of(*kind), imported ? "\nonly in imported graphs" : "");
  return {.name = name,
          .cells = {std::string(to_string(kind->op_class))},
          .summary = std::string(kind->summary),
          .description = description,
          .json = {{"name", name},
                   {"class", to_string(kind->op_class)},
                   {"summary", kind->summary},
                   {"description", description}}};
}

ListingEntry profile_entry(const std::string& name) {
  const DeviceProfile profile = load_device_profile(name);
  return {.name = name,
          .cells = {fmt::format("{:.3f}", profile.peak_flops_per_us / 1e6),
                    fmt::format("{:.1f}", profile.memory_bytes_per_us / 1e3),
                    fmt::format("{:.1f}", static_cast<double>(profile.memory_bytes) / 1e9)},
          .summary = profile.summary,
          .json = {{"name", name},
                   {"device_class", profile.device_class},
                   {"summary", profile.summary},
                   {"peak_flops_per_us", profile.peak_flops_per_us},
                   {"memory_bytes_per_us", profile.memory_bytes_per_us},
                   {"memory_bytes", profile.memory_bytes},
                   {"provenance", profile.provenance.kind}}};
}

ListingEntry suite_entry(const std::string& name) {
  const bench::Suite suite = bench::load_suite(name);
  return {.name = name, .summary = suite.summary, .json = Json::of_text(bench::write_suite(suite))};
}

std::vector<std::string> best_known_names() {
  std::vector<std::string> names;
  for (const bench::BestKnownStep& step : bench::shipped_best_known()) {
    names.push_back(fmt::format("{} on {}", step.graph, step.cluster));
  }
  return names;
}

ListingEntry best_known_entry(const std::string& name) {
  const std::size_t on = name.find(" on ");
  const bench::BestKnownStep step =
      bench::find_best_known(name.substr(0, on), name.substr(on + 4)).value();
  return {.name = name,
          .cells = {fmt::format("{:.3f}", step.step_time_us / 1e3)},
          .summary = "found by " + step.found.by,
          .json = {{"graph", step.graph},
                   {"cluster", step.cluster},
                   {"step_time_us", step.step_time_us},
                   {"groups", step.groups},
                   {"found", to_json(step.found)}}};
}

}  // namespace

std::string allowed_values(const ParamSpec& parameter, std::string_view quote) {
  std::vector<std::string> words = parameter.choices;
  if (std::holds_alternative<bool>(parameter.default_value)) {
    words = {"true", "false"};
  } else if (words.empty()) {
    return std::holds_alternative<std::string>(parameter.default_value)
               ? "a text"
               : fmt::format("{} to {}", parameter.min, parameter.max);
  }
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view separator = i == 0 ? "" : i + 1 < words.size() ? ", " : " or ";
    text += fmt::format("{}{}{}{}", separator, quote, words[i], quote);
  }
  return text;
}

std::span<const Listing> listings() {
  static const std::vector<Listing> all = {
      {"agents", "agent", {{"kind"}}, agent_names, agent_entry},
      {"best-known",
       "best known placement",
       {{"step [ms]", kRightAligned}},
       best_known_names,
       best_known_entry},
      {"clusters", "cluster", {{"devices", kRightAligned}}, cluster_names, cluster_entry},
      {"formats", "format", {{"read"}, {"written"}}, format_names, format_entry},
      {"graphs", "graph", {}, graph_names, graph_entry},
      {"groupings", "grouping", {{"takes --groups"}}, grouping_names, grouping_entry},
      {"op-kinds", "kind of op", {{"class"}}, op_kind_names, op_kind_entry},
      {"placement-formats",
       "placement format",
       {},
       bench::placement_format_names,
       placement_format_entry},
      {"profiles",
       "profile",
       {{"TFLOP/s", kRightAligned}, {"GB/s", kRightAligned}, {"GB", kRightAligned}},
       device_profile_names,
       profile_entry},
      {"suites", "suite", {}, bench::suite_names, suite_entry},
  };
  return all;
}

const Listing& find_listing(const std::string& what) {
  std::vector<std::string> names;
  for (const Listing& listing : listings()) {
    if (listing.what == what) {
      return listing;
    }
    names.emplace_back(listing.what);
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("cannot list '{}'{}", excerpt(what), suggest_names(what, names)));
}

}  // namespace emplace::cli

#include "command.hpp"
#include "graph_facts.hpp"
#include "terminal.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>

#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <span>

namespace emplace::cli {
namespace {

using agents::AgentRegistry;
using bench::TextTable;
using Json = nlohmann::ordered_json;

Json to_json(const ParamValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json to_json(std::span<const ParamSpec> parameters) {
  Json list = Json::array();
  for (const ParamSpec& parameter : parameters) {
    Json json = {{"name", parameter.name}, {"default", to_json(parameter.default_value)}};
    if (std::holds_alternative<std::int64_t>(parameter.default_value) ||
        std::holds_alternative<double>(parameter.default_value)) {
      json["min"] = parameter.min;
      json["max"] = parameter.max;
    }
    if (!parameter.choices.empty()) {
      json["choices"] = parameter.choices;
    }
    json["summary"] = parameter.summary;
    list.push_back(std::move(json));
  }
  return list;
}

// Parameters with their defaults, as a user would write them after the name.
std::string defaults_of(std::span<const ParamSpec> parameters) {
  std::string text;
  for (const ParamSpec& parameter : parameters) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", parameter.name,
                        to_string(parameter.default_value));
  }
  return text;
}

std::string agents_as_text() {
  TextTable table({{"agent"}, {"kind"}, {"parameters"}, {"summary"}});
  for (const std::string& name : AgentRegistry::global().names()) {
    const agents::AgentInfo& info = AgentRegistry::global().info(name);
    table.add_row(
        {name, std::string(to_string(info.kind)), defaults_of(info.parameters), info.summary});
  }
  return table.to_terminal(false);
}

Json agents_as_json() {
  Json list = Json::array();
  for (const std::string& name : AgentRegistry::global().names()) {
    const agents::AgentInfo& info = AgentRegistry::global().info(name);
    list.push_back({{"name", name},
                    {"kind", to_string(info.kind)},
                    {"summary", info.summary},
                    {"reference", info.reference},
                    {"deterministic", info.deterministic},
                    {"trainable", info.trainable},
                    {"parameters", to_json(info.parameters)}});
  }
  return list;
}

std::string graphs_as_text() {
  // Parameters are last, because they are long.
  TextTable table({{"graph"}, {"summary"}, {"parameters"}});
  for (const std::string& name : GraphCatalog::global().names()) {
    const GraphModel& model = GraphCatalog::global().find(name);
    table.add_row({name, model.summary, defaults_of(model.parameters)});
  }
  return table.to_terminal(false);
}

Json graphs_as_json() {
  Json list = Json::array();
  for (const std::string& name : GraphCatalog::global().names()) {
    const GraphModel& model = GraphCatalog::global().find(name);
    list.push_back({{"name", name},
                    {"summary", model.summary},
                    {"reference", model.reference},
                    {"parameters", to_json(model.parameters)}});
  }
  return list;
}

std::string graph_details_as_text() {
  using Align = TextTable::Align;
  TextTable table({{"graph"},
                   {"ops", Align::kRight},
                   {"edges", Align::kRight},
                   {"groups", Align::kRight},
                   {"parameters", Align::kRight},
                   {"GFLOP", Align::kRight},
                   {"memory [GB]", Align::kRight},
                   {"source"}});
  for (const GraphFacts& facts : facts_of_catalog()) {
    table.add_row({facts.name, fmt::format("{}", facts.ops), fmt::format("{}", facts.edges),
                   fmt::format("{}", facts.groups), fmt::format("{}", facts.totals.parameters),
                   fmt::format("{:.3f}", static_cast<double>(facts.totals.flops) / 1e9),
                   fmt::format("{:.3f}", static_cast<double>(facts.memory_bytes()) / 1e9),
                   facts.source});
  }
  return table.to_terminal(false);
}

Json graph_details_as_json() {
  Json list = graphs_as_json();
  const std::vector<GraphFacts> all = facts_of_catalog();
  for (std::size_t i = 0; i < all.size(); ++i) {
    list[i].update({{"ops", all[i].ops},
                    {"edges", all[i].edges},
                    {"groups", all[i].groups},
                    {"parameter_count", all[i].totals.parameters},
                    {"flops", all[i].totals.flops},
                    {"memory_bytes", all[i].memory_bytes()},
                    {"source", all[i].source}});
  }
  return list;
}

std::string formats_as_text() {
  TextTable table({{"format"}, {"read"}, {"write"}, {"parameters"}, {"summary"}});
  for (const std::string& name : GraphFormats::global().names()) {
    const GraphFormat& format = GraphFormats::global().find(name);
    std::vector<ParamSpec> parameters = format.read_parameters;
    for (const ParamSpec& parameter : format.write_parameters) {
      if (std::ranges::find(parameters, parameter.name, &ParamSpec::name) == parameters.end()) {
        parameters.push_back(parameter);
      }
    }
    table.add_row({name, format.read ? "yes" : "", format.write ? "yes" : "",
                   defaults_of(parameters), format.summary});
  }
  return table.to_terminal(false);
}

Json formats_as_json() {
  Json list = Json::array();
  for (const std::string& name : GraphFormats::global().names()) {
    const GraphFormat& format = GraphFormats::global().find(name);
    list.push_back({{"name", name},
                    {"summary", format.summary},
                    {"reference", format.reference},
                    {"endings", format.endings},
                    {"can_read", format.read != nullptr},
                    {"can_write", format.write != nullptr},
                    {"read_parameters", to_json(format.read_parameters)},
                    {"write_parameters", to_json(format.write_parameters)}});
  }
  return list;
}

std::string groupings_as_text() {
  TextTable table({{"grouping"}, {"takes --groups"}, {"summary"}});
  for (const GroupingStrategy& strategy : grouping_strategies()) {
    table.add_row({std::string(strategy.name), strategy.takes_target ? "yes" : "no",
                   std::string(strategy.summary)});
  }
  return table.to_terminal(false);
}

Json groupings_as_json() {
  Json list = Json::array();
  for (const GroupingStrategy& strategy : grouping_strategies()) {
    list.push_back({{"name", strategy.name},
                    {"summary", strategy.summary},
                    {"reference", strategy.reference},
                    {"takes_target", strategy.takes_target},
                    {"default", strategy.name == kDefaultGrouping}});
  }
  return list;
}

std::string clusters_as_text() {
  TextTable table({{"cluster"}, {"devices", TextTable::Align::kRight}, {"summary"}});
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    table.add_row({name, fmt::format("{}", cluster.devices.size()), cluster.summary});
  }
  return table.to_terminal(false);
}

Json clusters_as_json() {
  Json list = Json::array();
  for (const std::string& name : cluster_names()) {
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
    list.push_back({{"name", name}, {"summary", cluster.summary}, {"devices", std::move(devices)}});
  }
  return list;
}

std::string profiles_as_text() {
  TextTable table({{"profile"},
                   {"device class"},
                   {"TFLOP/s", TextTable::Align::kRight},
                   {"GB/s", TextTable::Align::kRight},
                   {"GB", TextTable::Align::kRight},
                   {"summary"}});
  for (const std::string& name : device_profile_names()) {
    const DeviceProfile profile = load_device_profile(name);
    table.add_row(
        {name, profile.device_class, fmt::format("{:.3f}", profile.peak_flops_per_us / 1e6),
         fmt::format("{:.1f}", profile.memory_bytes_per_us / 1e3),
         fmt::format("{:.1f}", static_cast<double>(profile.memory_bytes) / 1e9), profile.summary});
  }
  return table.to_terminal(false);
}

Json profiles_as_json() {
  Json list = Json::array();
  for (const std::string& name : device_profile_names()) {
    const DeviceProfile profile = load_device_profile(name);
    list.push_back({{"name", name},
                    {"device_class", profile.device_class},
                    {"summary", profile.summary},
                    {"peak_flops_per_us", profile.peak_flops_per_us},
                    {"memory_bytes_per_us", profile.memory_bytes_per_us},
                    {"memory_bytes", profile.memory_bytes},
                    {"provenance", profile.provenance.kind}});
  }
  return list;
}

std::string suites_as_text() {
  TextTable table({{"suite"}, {"summary"}});
  for (const std::string& name : bench::suite_names()) {
    table.add_row({name, bench::load_suite(name).summary});
  }
  return table.to_terminal(false);
}

Json suites_as_json() {
  Json list = Json::array();
  for (const std::string& name : bench::suite_names()) {
    Json suite = Json::parse(bench::write_suite(bench::load_suite(name)));
    suite.erase("schema");
    suite.erase("version");
    list.push_back(std::move(suite));
  }
  return list;
}

struct Listing {
  std::string_view what;
  std::string (*as_text)();
  Json (*as_json)();
  std::string (*details_as_text)() = nullptr;  // what takes longer than a blink to tell
  Json (*details_as_json)() = nullptr;
};

constexpr Listing kListings[] = {
    {"agents", agents_as_text, agents_as_json},
    {"clusters", clusters_as_text, clusters_as_json},
    {"formats", formats_as_text, formats_as_json},
    {"graphs", graphs_as_text, graphs_as_json, graph_details_as_text, graph_details_as_json},
    {"groupings", groupings_as_text, groupings_as_json},
    {"profiles", profiles_as_text, profiles_as_json},
    {"suites", suites_as_text, suites_as_json},
};

const Listing& find_listing(const std::string& what) {
  std::vector<std::string> names;
  for (const Listing& listing : kListings) {
    if (listing.what == what) {
      return listing;
    }
    names.emplace_back(listing.what);
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("cannot list '{}'{}", excerpt(what), suggest_names(what, names)));
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  struct Options {
    std::string what;
    bool details = false;
    bool json = false;
  };
  CLI::App* command = app.add_subcommand(
      "list", "List agents, graphs, formats, groupings, clusters, profiles or suites");
  const auto options = std::make_shared<Options>();
  command
      ->add_option("WHAT", options->what,
                   "agents, graphs, formats, groupings, clusters, profiles or suites")
      ->required()
      ->type_name("");
  command->add_flag("--details", options->details,
                    "Of graphs: build each at its defaults and tell its size");
  command->add_flag("--json", options->json, "Answer in JSON");
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      const Listing& listing = find_listing(options->what);
      if (options->details && listing.details_as_text == nullptr) {
        throw Error(ErrorCode::kUsage, fmt::format("{} have no --details", listing.what));
      }
      if (options->json) {
        const auto as_json = options->details ? listing.details_as_json : listing.as_json;
        print_json(Json{{"schema_version", 1}, {listing.what, as_json()}});
      } else {
        print(options->details ? listing.details_as_text() : listing.as_text());
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
